//! Every kernel compiles and assembles for the devices in use. Needs NVIDIA's compiler, and no GPU.

use super::nvrtc;
use curator::internals::{Compiler, Form, Precompiled, Program, Type, Value};
use curator::ops::{Args, Gpu, Registry};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// Volta, Ampere, Hopper.
const CAPABILITIES: [(u32, u32); 3] = [(7, 0), (8, 0), (9, 0)];

/// Chains of all operators that need no options, some at a time.
fn chains() -> Vec<Program> {
    let registry = Registry::builtin();
    let specs: Vec<_> = registry.iter().filter(|spec| matches!(spec.gpu, Gpu::Kernel(_))).collect();
    let mut chains = vec![];
    for specs in specs.chunks(12) {
        let mut program = Program::new(vec![Type::Text]);
        for spec in specs {
            let Ok(args) = Args::new(spec, vec![]) else { continue };
            let call = Value::Call { spec: Arc::clone(spec), args: Arc::new(args), document: 0 };
            let value = program.push(call).unwrap();
            program.add_output(value).unwrap();
        }
        chains.push(program);
    }
    chains
}

#[test]
fn fused_chains_compile_to_machine_code_for_every_generation() {
    let Some(nvrtc) = nvrtc() else { return };
    let compiler = Compiler::open(Some(&nvrtc), None, None);
    for chain in chains() {
        for capability in CAPABILITIES {
            let code = compiler.compile(&chain.source(), capability, Form::Cubin);
            let code = code.unwrap_or_else(|error| panic!("{capability:?}: {error}\n{chain}"));
            assert!(code.starts_with(b"\x7fELF"), "{capability:?}: no machine code");
        }
    }
}

#[test]
fn committed_kernels_assemble() {
    let Some(assembler) = std::env::var_os("CURATOR_PTXAS").map(PathBuf::from).filter(|path| path.exists()) else {
        eprintln!("no ptxas (CURATOR_PTXAS): the committed kernels are not assembled");
        return;
    };
    let folder = tempfile::TempDir::new().unwrap();
    let pack = Precompiled::committed().unwrap();
    let names: Vec<String> = pack.names().map(str::to_string).collect();
    assert!(names.len() > 100);
    for name in names {
        let source = folder.path().join("kernel.ptx");
        std::fs::write(&source, pack.get(&name).unwrap()).unwrap();
        let output = Command::new(&assembler).args(["-arch=sm_70", "-o", "/dev/null"]).arg(&source).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
