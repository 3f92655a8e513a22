//! One GPU: its context, streams, memory, loaded kernels.
//!
//! Any thread may use it, for any number of batches at a time; batches go round the streams, so that one is copied in
//! while another is computed and a third copied out.
//! Not here: a batch on its way (`batch.rs`).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use arrow::array::ArrayRef;

use super::{
    Compiler, DeviceBatch, DeviceInfo, FUSED_ENTRY, GpuError, Layout, MemoryUse, Mode, Program, Unavailable,
    cache::Key,
    driver::{Context, Failure, Kernel, Module, Stream},
    error::describe,
    flight::{Flight, Gear, Markers, Slab, Staging},
    groups::group_kernels,
    memory::{Budget, Claim, Spares, staging_bytes},
    precompiled::Precompiled,
};
use crate::ops::device_tables;

/// One GPU.
#[derive(Debug)]
pub struct Device {
    info: DeviceInfo,
    compiler: Arc<Compiler>,
    budget: Arc<Budget>,
    use_pinned: bool,
    spares: Spares,
    modules: Mutex<HashMap<Key, Result<Arc<Module>, String>>>,
    // Made when first needed: a device that only says what it is takes nothing.
    tables: Mutex<Option<Slab>>,
    next_stream: AtomicUsize,
    streams: Vec<Arc<Stream>>,
    context: Arc<Context>,
}

/// A program made ready for one device.
#[derive(Debug)]
pub struct Loaded {
    pub(super) program: Program,
    pub(super) mode: Mode,
    pub(super) kernels: Vec<Kernel>,
    pub(super) tables_address: u64,
}

/// What a device is opened with.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeviceOptions {
    pub(super) memory_fraction: f64,
    pub(super) n_streams: usize,
    pub(super) use_pinned: bool,
}

impl Device {
    pub(super) fn open(
        info: DeviceInfo,
        options: DeviceOptions,
        compiler: &Arc<Compiler>,
    ) -> Result<Arc<Self>, Unavailable> {
        let fails = |why: String| Unavailable::DeviceFails { name: info.name.clone(), why };
        let context = Context::open(info.ordinal).map_err(|error| fails(describe("making a context", error)))?;
        let streams: Result<Vec<_>, Failure> = (0..options.n_streams.max(1)).map(|_| Stream::new(&context)).collect();
        let streams = streams.map_err(|failure| match failure {
            Failure::OutOfMemory => fails("it has no memory for streams".to_string()),
            Failure::Lost(why) | Failure::Refused(why) => fails(why),
        })?;
        let limit_bytes = (info.total_bytes as f64 * options.memory_fraction) as usize;
        context.keep_in_pool(limit_bytes as u64);
        Ok(Arc::new(Self {
            compiler: compiler.clone(),
            budget: Budget::new(limit_bytes),
            use_pinned: options.use_pinned,
            spares: Spares::new(2 * options.n_streams.max(1)),
            modules: Mutex::default(),
            tables: Mutex::default(),
            next_stream: AtomicUsize::new(0),
            streams,
            info,
            context,
        }))
    }

    /// What is known about it, with the memory that is free now.
    pub fn info(&self) -> DeviceInfo {
        let free_bytes = self.context.memory_info().map_or(0, |(free_bytes, _)| free_bytes);
        DeviceInfo { free_bytes, has_pools: self.context.has_pools, ..self.info.clone() }
    }

    /// What is used of its memory.
    pub fn memory(&self) -> MemoryUse {
        self.budget.read(self.context.reserved_bytes())
    }

    /// Why it cannot be used any more, if so.
    pub fn lost(&self) -> Option<&str> {
        self.context.lost()
    }

    /// Makes a program ready: one kernel by NVRTC, or precompiled ones where there is no NVRTC for this device.
    pub fn load(&self, program: &Program) -> Result<Arc<Loaded>, GpuError> {
        if let Some(why) = self.lost() {
            return Err(GpuError::Lost(why.to_string()));
        }
        let source = program.source();
        let (mode, mut kernels) = match self.load_fused(&source) {
            Ok(kernel) => (Mode::Fused, vec![kernel]),
            Err(GpuError::Compile(why)) => match self.load_steps(program) {
                Ok(kernels) => (Mode::Steps, kernels),
                Err(GpuError::Compile(also)) => return Err(GpuError::Compile(format!("{why}; {also}"))),
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        };
        if program.grouping().is_some() {
            for (name, source) in group_kernels() {
                kernels.push(self.load_kernel(&source, &name)?);
            }
        }
        let tables_address = self.tables()?;
        Ok(Arc::new(Loaded { program: program.clone(), mode, kernels, tables_address }))
    }

    fn load_fused(&self, source: &str) -> Result<Kernel, GpuError> {
        self.compiled(source, FUSED_ENTRY)
    }

    /// A kernel that no operator has, by NVRTC or as it came compiled.
    pub(super) fn load_kernel(&self, source: &str, name: &str) -> Result<Kernel, GpuError> {
        match self.compiled(source, name) {
            Err(GpuError::Compile(why)) => match Precompiled::committed() {
                Ok(pack) => {
                    let ptx = pack.get(name).ok_or(GpuError::Compile(why))?;
                    self.kernel(&self.module(&Key::precompiled(name), ptx)?, name)
                }
                Err(also) => Err(GpuError::Compile(format!("{why}; {also}"))),
            },
            kernel => kernel,
        }
    }

    fn compiled(&self, source: &str, entry: &str) -> Result<Kernel, GpuError> {
        let DeviceInfo { compute_capability, driver_version, .. } = self.info;
        let image = || self.compiler.image(source, compute_capability, driver_version);
        let mut compiled = image()?;
        let mut module = self.module(&compiled.key, &compiled.bytes);
        // What was kept on disk may be of no use to a driver that has changed since.
        if compiled.is_from_disk && matches!(module, Err(GpuError::Compile(_))) {
            self.compiler.forget(&compiled.key);
            self.modules().remove(&compiled.key);
            compiled = image()?;
            module = self.module(&compiled.key, &compiled.bytes);
        }
        self.kernel(&module?, entry)
    }

    fn load_steps(&self, program: &Program) -> Result<Vec<Kernel>, GpuError> {
        let names = program.steps().map_err(GpuError::Compile)?;
        let pack = Precompiled::committed().map_err(GpuError::Compile)?;
        let load = |name: &String| {
            let ptx = pack.get(name).ok_or_else(|| GpuError::Compile(format!("`{name}` was not precompiled")))?;
            self.kernel(&self.module(&Key::precompiled(name), ptx)?, name)
        };
        names.iter().map(load).collect()
    }

    /// The module of an image. What the driver refused once it would refuse again.
    fn module(&self, key: &Key, image: &[u8]) -> Result<Arc<Module>, GpuError> {
        let mut modules = self.modules();
        if let Some(known) = modules.get(key) {
            return known.clone().map_err(GpuError::Compile);
        }
        let module = Module::load(&self.context, image).map_err(|failure| self.not_loaded(failure, image.len()));
        match &module {
            Ok(module) => _ = modules.insert(key.clone(), Ok(module.clone())),
            Err(GpuError::Compile(why)) => _ = modules.insert(key.clone(), Err(why.clone())),
            Err(_) => {}
        }
        module
    }

    fn modules(&self) -> MutexGuard<'_, HashMap<Key, Result<Arc<Module>, String>>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kernel(&self, module: &Arc<Module>, name: &str) -> Result<Kernel, GpuError> {
        Kernel::find(module, name).map_err(|failure| self.not_loaded(failure, 0))
    }

    fn not_loaded(&self, failure: Failure, n_bytes: usize) -> GpuError {
        match failure {
            Failure::Refused(why) => GpuError::Compile(why),
            failure => self.error(failure, n_bytes, 0),
        }
    }

    /// The address of the operators' tables; the first to ask copies them.
    fn tables(&self) -> Result<u64, GpuError> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slab) = tables.as_ref() {
            return Ok(slab.address());
        }
        let bytes = device_tables();
        let claim = self.claim(bytes.len())?;
        let slab = self.slab(&self.streams[0], bytes.len())?;
        slab.fill(&bytes).map_err(|failure| self.error(failure, bytes.len(), bytes.len()))?;
        claim.keep();
        Ok(tables.insert(slab).address())
    }

    /// Exactly the bytes that a batch of these columns takes on the device.
    pub fn slab_bytes(&self, loaded: &Loaded, columns: &[ArrayRef]) -> Result<usize, GpuError> {
        let layout = Layout::plan(&loaded.program, loaded.mode, columns).map_err(GpuError::Refused)?;
        Ok(layout.total_bytes())
    }

    /// Takes memory for a batch, packs the columns, and puts their copy under way.
    pub fn upload(self: &Arc<Self>, loaded: &Arc<Loaded>, columns: &[ArrayRef]) -> Result<DeviceBatch, GpuError> {
        let layout = Layout::plan(&loaded.program, loaded.mode, columns).map_err(GpuError::Refused)?;
        let staged_bytes = layout.input_bytes().max(layout.output_range().len());
        let (flight, claim) = self.flight(layout.total_bytes(), staged_bytes)?;
        let mut batch = DeviceBatch::new(self, loaded, layout, flight, claim);
        batch.copy_in(columns)?;
        Ok(batch)
    }

    /// Memory on the device and on the host for something that is to be computed there. The flight must end first.
    pub(super) fn flight(&self, n_bytes: usize, staged_bytes: usize) -> Result<(Flight, Claim), GpuError> {
        let claim = self.claim(n_bytes)?;
        let stream = &self.streams[self.next_stream.fetch_add(1, Relaxed) % self.streams.len()];
        let slab = self.slab(stream, n_bytes)?;
        Ok((Flight::new(slab, self.gear(staged_bytes)?), claim))
    }

    fn claim(&self, n_bytes: usize) -> Result<Claim, GpuError> {
        self.budget.claim(n_bytes)
    }

    /// Memory for what was claimed.
    fn slab(&self, stream: &Arc<Stream>, n_bytes: usize) -> Result<Slab, GpuError> {
        Slab::new(stream, n_bytes).map_err(|failure| self.error(failure, n_bytes, n_bytes))
    }

    /// A staging buffer: one that waits, or a new one.
    fn gear(&self, n_bytes: usize) -> Result<Gear, GpuError> {
        if let Some(gear) = self.spares.take(n_bytes) {
            return Ok(gear);
        }
        let n_bytes = staging_bytes(n_bytes);
        let pinned = if self.use_pinned { Staging::pinned(&self.context, n_bytes).ok() } else { None };
        let staging = pinned.unwrap_or_else(|| Staging::pageable(n_bytes));
        let markers = Markers::new(&self.context).map_err(|failure| self.error(failure, n_bytes, 0))?;
        Ok(Gear { staging, markers })
    }

    /// Takes back what a batch borrowed.
    pub(super) fn put_back(&self, gear: Gear) {
        self.spares.put(gear);
    }

    /// The error of a call that needed `n_bytes`, for a batch that has `claimed_bytes` of the budget.
    pub(super) fn error(&self, failure: Failure, n_bytes: usize, claimed_bytes: usize) -> GpuError {
        match failure {
            Failure::OutOfMemory => self.budget.device_is_full(n_bytes, claimed_bytes),
            Failure::Lost(why) => GpuError::Lost(why),
            Failure::Refused(why) => GpuError::Refused(why),
        }
    }

    /// Gives back staging buffers, kernels that nobody uses, and memory that only the pool holds.
    pub fn release_unused(&self) {
        self.spares.clear();
        self.modules().retain(|_, module| module.as_ref().is_ok_and(|module| Arc::strong_count(module) > 1));
        self.context.trim_pool();
    }
}
