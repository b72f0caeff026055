//! `weave SOURCES PATCH..`: puts the patches into a clean worktree, each behind a switch, so that one build serves
//! for all of them. Names those that it has put in; the others have to be applied one by one.

mod patch;
mod weaver;

use std::{env, path::Path, process::ExitCode};

use weaver::Weaver;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(sources) = arguments.next() else {
        eprintln!("usage: weave SOURCES PATCH..");
        return ExitCode::from(2);
    };
    let mut weaver = Weaver::new(Path::new(&sources));
    for patch in arguments {
        let path = Path::new(&patch);
        match weaver.add(path) {
            Ok(name) => println!("{name}"),
            Err(reason) => eprintln!("{}: {reason}", path.display()),
        }
    }
    match weaver.write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write the sources: {error}");
            ExitCode::FAILURE
        }
    }
}
