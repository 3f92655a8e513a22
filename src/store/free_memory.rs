//! How much memory a run may take where nobody says: most of what the machine, or the container, has left.

use std::path::Path;

/// 80 % of what is free; `None` where the system does not say.
pub(crate) fn most_of_free_memory() -> Option<usize> {
    let of_machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_in(&text));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = left_in_groups(&groups, Path::new("/sys/fs/cgroup"));
    let free = of_machine.into_iter().chain(of_groups).min()?;
    Some(free / 10 * 8)
}

fn available_in(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// What the least generous of the process's control groups has left, and of those above them: Slurm and Kubernetes limit jobs
/// by them. `groups` is what `/proc/self/cgroup` says; a container may see its own group as the root.
fn left_in_groups(groups: &str, root: &Path) -> Option<usize> {
    let mut least = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, limit, used) = match controllers {
            "" => (root.to_path_buf(), "memory.max", "memory.current"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
            _ => continue,
        };
        let group = root.join(group.trim_start_matches('/'));
        for folder in group.ancestors().take_while(|folder| folder.starts_with(&root)) {
            let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<usize>().ok();
            let left = number(limit).map(|limit| limit.saturating_sub(number(used).unwrap_or(0)));
            least = least.into_iter().chain(left).min();
        }
    }
    least
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_group_decides() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("slurm/memory.max", "1000\n");
        write("slurm/memory.current", "300\n");
        write("slurm/job/memory.max", "max\n");
        assert_eq!(left_in_groups("0::/slurm/job\n", root.path()), Some(700));
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/docker/memory.limit_in_bytes", "500\n");
        write("memory/docker/memory.usage_in_bytes", "100\n");
        assert_eq!(left_in_groups("4:memory:/docker\n3:cpuset:/docker\n", root.path()), Some(400));
        assert_eq!(left_in_groups("0::/\n", root.path()), None);
        assert_eq!(available_in("MemTotal: 9 kB\nMemAvailable:   12 kB\n"), Some(12 * 1024));
    }
}
