//! Connects to buckets: endpoint, region and credentials from where the stores' own tools take them.
//!
//! The environment comes first, then AWS's profile, then the role of the machine or container. Nothing is taken from a query
//! or a setting, so nothing secret can be in a plan, a manifest or a report.

use super::address::Address;
use super::address::Scheme;
use super::bucket::Bucket;
use super::profile::{Profile, variable};
use super::requests::{MAX_TRYING, timeout, wait};
use super::trouble::{Trouble, without_urls};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, resolve_bucket_region};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

/// How long credentials may take: a machine without a role has nobody who answers.
const CREDENTIALS_TIMEOUT: Duration = Duration::from_secs(10);

/// The bucket of an address.
pub(super) fn bucket(address: &Address) -> Result<Bucket> {
    match address.scheme {
        Scheme::S3 => s3(&address.root),
        Scheme::Gs => gs(&address.root),
        Scheme::Az => az(&address.root),
        Scheme::Web | Scheme::Hub => Err(Error::new(ErrorKind::Unsupported, "it is no bucket")),
    }
}

fn s3(name: &str) -> Result<Bucket> {
    use AmazonS3ConfigKey as Key;
    let profile = Profile::load();
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(name).with_retry(retries());
    let is_set = |builder: &AmazonS3Builder, key| builder.get_config_value(&key).is_some_and(|value| !value.is_empty());
    let has_role = variable("AWS_WEB_IDENTITY_TOKEN_FILE").is_some()
        || variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").is_some()
        || variable("AWS_CONTAINER_CREDENTIALS_FULL_URI").is_some();
    if !is_set(&builder, Key::AccessKeyId) && !has_role {
        if let Some(setting) = profile.is_elsewhere() {
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                format!(
                    "the AWS profile takes its keys by `{setting}`, which curator does not follow; put them into the \
                     environment: eval \"$(aws configure export-credentials --format env)\""
                ),
            ));
        }
        for (setting, key) in [
            ("aws_access_key_id", Key::AccessKeyId),
            ("aws_secret_access_key", Key::SecretAccessKey),
            ("aws_session_token", Key::Token),
        ] {
            if let Some(value) = profile.get(setting) {
                builder = builder.with_config(key, value);
            }
        }
    }
    let endpoint = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
    let endpoint = endpoint.or_else(|| profile.get("endpoint_url").map(str::to_string));
    if let Some(endpoint) = &endpoint {
        let may_be_plain = is_set(&builder, Key::Client(ClientConfigKey::AllowHttp))
            && builder.get_config_value(&Key::Client(ClientConfigKey::AllowHttp)).as_deref() == Some("true");
        check_endpoint(endpoint, may_be_plain, "AWS_ALLOW_HTTP=true")?;
        builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
    }
    if !is_set(&builder, Key::Client(ClientConfigKey::Timeout)) {
        builder = builder.with_config(Key::Client(ClientConfigKey::Timeout), request_timeout());
    }
    if !is_set(&builder, Key::Region) && !is_set(&builder, Key::DefaultRegion) {
        if let Some(region) = profile.get("region") {
            builder = builder.with_region(region);
        } else if endpoint.is_none() {
            let bucket = name.to_string();
            let region = wait(async move {
                let asked = resolve_bucket_region(&bucket, &ClientOptions::new()).await;
                asked.map_err(|error| Trouble::permanent(ErrorKind::NotFound, without_urls(error.to_string())))
            })?;
            builder = builder.with_region(region);
        }
    }
    let is_anonymous = builder.get_config_value(&Key::SkipSignature).as_deref() == Some("true");
    let store = Arc::new(builder.build().map_err(unusable)?);
    if !is_anonymous {
        let credentials = Arc::clone(store.credentials());
        probe(
            async move { credentials.get_credential().await.map(drop) },
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile in ~/.aws/credentials, or the machine's role; for public \
             buckets set AWS_SKIP_SIGNATURE=true",
        )?;
    }
    Ok(Bucket::new(store))
}

fn gs(name: &str) -> Result<Bucket> {
    use GoogleConfigKey as Key;
    let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(name).with_retry(retries());
    if let Some(endpoint) = variable("STORAGE_EMULATOR_HOST") {
        let endpoint = if endpoint.contains("://") { endpoint } else { format!("http://{endpoint}") };
        check_endpoint(&endpoint, false, "an https:// endpoint")?;
        builder = builder.with_base_url(&endpoint);
        builder = builder.with_config(Key::Client(ClientConfigKey::AllowHttp), "true").with_skip_signature(true);
    }
    if builder.get_config_value(&Key::Client(ClientConfigKey::Timeout)).is_none() {
        builder = builder.with_config(Key::Client(ClientConfigKey::Timeout), request_timeout());
    }
    let is_anonymous = builder.get_config_value(&Key::SkipSignature).as_deref() == Some("true");
    let store = Arc::new(builder.build().map_err(unusable)?);
    if !is_anonymous {
        let credentials = Arc::clone(store.credentials());
        probe(
            async move { credentials.get_credential().await.map(drop) },
            "GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth application-default login`, or the machine's service account; for \
             public buckets set GOOGLE_SKIP_SIGNATURE=true",
        )?;
    }
    Ok(Bucket::new(store))
}

fn az(name: &str) -> Result<Bucket> {
    use AzureConfigKey as Key;
    let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(name).with_retry(retries());
    if let Some(endpoint) = builder.get_config_value(&Key::Endpoint) {
        check_endpoint(&endpoint, false, "an https:// endpoint")?;
        builder = builder.with_allow_http(endpoint.starts_with("http://"));
    }
    if builder.get_config_value(&Key::Client(ClientConfigKey::Timeout)).is_none() {
        builder = builder.with_config(Key::Client(ClientConfigKey::Timeout), request_timeout());
    }
    let is_anonymous = builder.get_config_value(&Key::SkipSignature).as_deref() == Some("true");
    let store = Arc::new(builder.build().map_err(unusable)?);
    if !is_anonymous {
        let credentials = Arc::clone(store.credentials());
        probe(
            async move { credentials.get_credential().await.map(drop) },
            "AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY, a service principal, or the \
             machine's identity; for public containers set AZURE_SKIP_SIGNATURE=true",
        )?;
    }
    Ok(Bucket::new(store))
}

/// Asks for credentials once, before the first request: whoever has none should hear of it soon, and what to set.
fn probe(ask: impl Future<Output = object_store::Result<()>> + Send + 'static, sources: &'static str) -> Result<()> {
    wait(async move {
        match tokio::time::timeout(CREDENTIALS_TIMEOUT, ask).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Trouble::permanent(
                ErrorKind::PermissionDenied,
                format!("no credentials were found; they are taken from {sources}"),
            )),
        }
    })
}

fn unusable(error: object_store::Error) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("the store cannot be used: {}", without_urls(error.to_string())))
}

/// Credentials and data go over a connection that is not encrypted only within this machine, or if that was asked for.
fn check_endpoint(endpoint: &str, may_be_plain: bool, way_out: &str) -> Result<()> {
    let Some(rest) = endpoint.strip_prefix("http://") else { return Ok(()) };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_here = name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_here || may_be_plain {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidInput,
        format!("the endpoint is not encrypted (http://) and not on this machine; use https://, or set {way_out}"),
    ))
}

fn request_timeout() -> String {
    format!("{}s", timeout().as_secs() * 2)
}

fn retries() -> RetryConfig {
    let backoff =
        BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: Duration::from_secs(15), base: 2.0 };
    RetryConfig { backoff, max_retries: 10, retry_timeout: MAX_TRYING }
}

#[cfg(test)]
mod tests {
    use super::check_endpoint;

    #[test]
    fn plain_endpoints_are_for_this_machine() {
        for here in ["http://127.0.0.1:9000", "http://localhost:9000/", "http://[::1]:9000", "https://s3.example.com"] {
            assert!(check_endpoint(here, false, "").is_ok(), "{here}");
        }
        for there in ["http://minio:9000", "http://10.0.0.1", "http://127.0.0.1.example.com/"] {
            assert!(check_endpoint(there, false, "").is_err(), "{there}");
            assert!(check_endpoint(there, true, "").is_ok(), "{there}");
        }
    }
}
