//! Fuzz targets for everything that reads bytes from outside.
//!
//! `tests/fuzz/README.md` describes how to run them. One program contains all targets, so that it is linked only once. The
//! variable `PILOTHOUSE_FUZZ_TARGET` names the target that runs.
//!
//! Without `--cfg pilothouse_fuzz` the program is built for lints only, and just prints the names of the targets.
#![cfg_attr(pilothouse_fuzz, no_main)]

mod answers;
mod input;
mod targets;

#[cfg(pilothouse_fuzz)]
libfuzzer_sys::fuzz_target!(init: targets::choose(), |data: &[u8]| targets::run(data));

#[cfg(not(pilothouse_fuzz))]
fn main() {
    for (name, _) in targets::ALL {
        println!("{name}");
    }
}
