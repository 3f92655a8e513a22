//! NVIDIA's run-time compiler: CUDA C to PTX or to machine code.
//!
//! Its nine functions are looked up here and not by `cudarc`, which knows the library only by the names of its own CUDA
//! version: a newer one is found too, and one that is missing is a message.
//! Not here: what is compiled for what, and where it is kept (`compile.rs`).
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    mem::ManuallyDrop,
    path::{Path, PathBuf},
};

use libloading::Library;

type Program = *mut c_void;
type Status = c_int;

/// The library, open.
#[derive(Debug)]
pub(super) struct Nvrtc {
    // Never unloaded: the process may be inside it when it ends.
    _library: ManuallyDrop<Library>,
    /// Where it was found.
    pub(super) name: PathBuf,
    /// Major and minor.
    pub(super) version: (u32, u32),
    /// The architectures it compiles for, ascending: 80 for compute capability 8.0.
    pub(super) architectures: Vec<u32>,
    functions: Functions,
}

#[derive(Debug, Clone, Copy)]
struct Functions {
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    log: Getter,
    ptx: Getter,
    cubin: Getter,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
}

/// A pair of functions: how many bytes, and the bytes.
#[derive(Debug, Clone, Copy)]
struct Getter {
    size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    get: unsafe extern "C" fn(Program, *mut c_char) -> Status,
}

/// What a source becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Assembly that a driver, not older than the compiler, translates.
    Ptx,
    /// Machine code of one architecture.
    Cubin,
}

impl Nvrtc {
    /// Opens the library at `path`, or else the one found by name: the first that is not newer than the driver, whose
    /// version is `driver_version` if there is one.
    pub(super) fn open(path: Option<&Path>, driver_version: Option<u32>) -> Result<Self, String> {
        if let Some(path) = path {
            return Self::load(path).map_err(|why| format!("NVRTC at {}: {why}", path.display()));
        }
        let mut found: Vec<Self> = names().iter().filter_map(|name| Self::load(name).ok()).collect();
        let fits = |nvrtc: &Nvrtc| driver_version.is_none_or(|version| nvrtc.cuda_version() <= version);
        let best = found.iter().position(fits).unwrap_or(0);
        if found.is_empty() {
            return Err("NVRTC was not found: `pip install nvidia-cuda-nvrtc-cu12`, and name its library with --nvrtc"
                .to_string());
        }
        Ok(found.swap_remove(best))
    }

    /// The version as the driver counts: 12090 for 12.9.
    pub(super) fn cuda_version(&self) -> u32 {
        self.version.0 * 1000 + self.version.1 * 10
    }

    fn load(name: &Path) -> Result<Self, String> {
        // SAFETY: the library's initialisers run, as in any program that is linked with it.
        let library = ManuallyDrop::new(unsafe { Library::new(name) }.map_err(|error| error.to_string())?);
        let (major, minor) = version_of(&library)?;
        let functions = Functions {
            create: symbol(&library, "nvrtcCreateProgram")?,
            compile: symbol(&library, "nvrtcCompileProgram")?,
            destroy: symbol(&library, "nvrtcDestroyProgram")?,
            log: Getter {
                size: symbol(&library, "nvrtcGetProgramLogSize")?,
                get: symbol(&library, "nvrtcGetProgramLog")?,
            },
            ptx: Getter { size: symbol(&library, "nvrtcGetPTXSize")?, get: symbol(&library, "nvrtcGetPTX")? },
            cubin: Getter { size: symbol(&library, "nvrtcGetCUBINSize")?, get: symbol(&library, "nvrtcGetCUBIN")? },
            error_string: symbol(&library, "nvrtcGetErrorString")?,
        };
        let architectures = architectures_of(&library)?;
        Ok(Self { _library: library, name: name.to_path_buf(), version: (major, minor), architectures, functions })
    }

    /// Compiles `source`; the error is the compiler's log.
    pub(super) fn compile(&self, source: &str, options: &[String], form: Form) -> Result<Vec<u8>, String> {
        let c_string = |text: &str| CString::new(text).map_err(|_| "a source has a zero byte in it".to_string());
        let source = c_string(source)?;
        let options: Vec<CString> = options.iter().map(|option| c_string(option)).collect::<Result<_, _>>()?;
        let program = self.create(&source)?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program lives, and the options outlive the call.
        let status = unsafe { (self.functions.compile)(program.raw, pointers.len() as c_int, pointers.as_ptr()) };
        if let Err(why) = self.check(status) {
            let log = self.get(&program, self.functions.log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_string();
            return Err(if log.is_empty() { why } else { log });
        }
        self.get(&program, if form == Form::Ptx { self.functions.ptx } else { self.functions.cubin }).map(
            |mut image| {
                // PTX ends in a zero byte.
                if form == Form::Ptx && image.last() == Some(&0) {
                    image.pop();
                }
                image
            },
        )
    }

    fn create(&self, source: &CStr) -> Result<OwnedProgram, String> {
        let mut raw: Program = std::ptr::null_mut();
        let none = std::ptr::null();
        let name = c"segment.cu";
        // SAFETY: both texts end in zero bytes and are copied; there are no headers.
        let status =
            unsafe { (self.functions.create)(&mut raw, source.as_ptr(), name.as_ptr(), 0, none, std::ptr::null()) };
        self.check(status)?;
        Ok(OwnedProgram { raw, destroy: self.functions.destroy })
    }

    fn get(&self, program: &OwnedProgram, getter: Getter) -> Result<Vec<u8>, String> {
        let mut n_bytes = 0;
        // SAFETY: the program lives, and was compiled.
        self.check(unsafe { (getter.size)(program.raw, &mut n_bytes) })?;
        let mut bytes = vec![0_u8; n_bytes];
        if n_bytes > 0 {
            // SAFETY: there is room for as many bytes as the library just said.
            self.check(unsafe { (getter.get)(program.raw, bytes.as_mut_ptr().cast()) })?;
        }
        Ok(bytes)
    }

    fn check(&self, status: Status) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the library gives a constant text for any number.
        let text = unsafe { (self.functions.error_string)(status) };
        if text.is_null() {
            return Err(format!("NVRTC error {status}"));
        }
        // SAFETY: it ends in a zero byte and lives as long as the library.
        Err(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

/// A program, destroyed when dropped.
struct OwnedProgram {
    raw: Program,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
}

impl Drop for OwnedProgram {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once, by the library that created it.
        unsafe { (self.destroy)(&mut self.raw) };
    }
}

/// Looks a function up. Its type must be the one the library declares.
fn symbol<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: `F` is the function's type as CUDA's `nvrtc.h` declares it, at each of the calls above and below.
    unsafe { library.get::<F>(name) }.map(|found| *found).map_err(|_| format!("it has no `{name}`"))
}

fn version_of(library: &Library) -> Result<(u32, u32), String> {
    let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status = symbol(library, "nvrtcVersion")?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library writes two integers.
    match unsafe { version(&mut major, &mut minor) } {
        0 => Ok((u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0))),
        status => Err(format!("it does not say its version: error {status}")),
    }
}

fn architectures_of(library: &Library) -> Result<Vec<u32>, String> {
    let count: unsafe extern "C" fn(*mut c_int) -> Status = symbol(library, "nvrtcGetNumSupportedArchs")?;
    let list: unsafe extern "C" fn(*mut c_int) -> Status = symbol(library, "nvrtcGetSupportedArchs")?;
    let mut n_architectures = 0;
    // SAFETY: the library writes one integer.
    let mut status = unsafe { count(&mut n_architectures) };
    let mut found: Vec<c_int> = vec![0; usize::try_from(n_architectures).unwrap_or(0)];
    if status == 0 {
        // SAFETY: there is room for as many integers as the library just said.
        status = unsafe { list(found.as_mut_ptr()) };
    }
    if status != 0 {
        return Err(format!("it does not say what it compiles for: error {status}"));
    }
    let mut found: Vec<u32> = found.into_iter().filter_map(|arch| u32::try_from(arch).ok()).collect();
    found.sort_unstable();
    Ok(found)
}

/// The names that the library goes by, and the folders where CUDA's installers put it.
fn names() -> Vec<PathBuf> {
    let plain = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"];
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let folders = homes.chain([PathBuf::from("/usr/local/cuda")]).map(|home| home.join("lib64"));
    let mut names: Vec<PathBuf> = plain.iter().map(PathBuf::from).collect();
    names.extend(folders.map(|folder| folder.join("libnvrtc.so")));
    names
}
