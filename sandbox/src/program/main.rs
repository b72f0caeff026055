//! A Kubernetes API server in one process, as a program. `pilothouse-sandbox --help` shows its options.
//!
//! Under the names `kube-apiserver` and `etcd` the same program takes the flags of these two, for test suites that start them with
//! controller-runtime's envtest: see `envtest`.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `arguments.rs` | the command line |
//! | `serve.rs` | starts the server, says when it is ready, and stops it |
//! | `private_file.rs` | writes the kubeconfig |
//! | `stop.rs` | the signals that stop the program |
//! | `envtest/` | the programs `kube-apiserver` and `etcd` |

mod arguments;
mod envtest;
mod private_file;
mod serve;
mod stop;

use std::process::ExitCode;

use arguments::Arguments;

/// A request allocates many small values: with the system's allocator a creation takes half as long again (`bench/README.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

#[tokio::main]
async fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    let ended = match envtest::Program::of(&name) {
        Some(program) => program.run(words).await,
        None => match arguments::read() {
            Arguments::Serve(options) => serve::run(*options).await,
            Arguments::Assets(folder) => envtest::link(&folder),
        },
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
