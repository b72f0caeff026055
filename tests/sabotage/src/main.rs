//! The program behind `replay`. It reads the sabotages of a folder and changes sources.
//!
//! ```text
//! sabotage list FOLDER                     the rows: name, promise, what follows `cargo test`
//! sabotage apply SOURCES FOLDER NAME       puts one sabotage into the sources
//! sabotage weave SOURCES FOLDER NAME..     puts all of them in, each behind a switch, so that one build serves for all;
//!                                          prints the names of those that it has put in
//! sabotage broken SOURCES                  prints the names of those that do not compile, by cargo's JSON messages in
//!                                          the standard input
//! sabotage programs                        prints the test programs that cargo's JSON messages in the standard input name:
//!                                          `-p package --lib` or `-p package --test name`, the program, the package's folder
//! ```

use std::{env, fs, io, path::Path, process::ExitCode};

use pilothouse_sabotage::{Broken, Lines, Sabotage, Weaver, paths};
use serde_json::Value;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["list", folder] => list(Path::new(folder)),
        ["apply", sources, folder, name] => apply(Path::new(sources), Path::new(folder), name),
        ["weave", sources, folder, ref names @ ..] => {
            weave(Path::new(sources), Path::new(folder), names)
        }
        ["broken", sources] => broken(Path::new(sources)),
        ["programs"] => programs(),
        _ => {
            eprintln!(
                "usage: sabotage list FOLDER | apply SOURCES FOLDER NAME | weave SOURCES FOLDER NAME.. \
                 | broken SOURCES | programs"
            );
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn list(folder: &Path) -> Result<(), String> {
    for path in paths(folder)? {
        let sabotage =
            Sabotage::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for row in sabotage.rows {
            let promise = if row.promise.is_empty() {
                "-"
            } else {
                &row.promise
            };
            println!("{}\t{promise}\t{}", sabotage.name, row.test);
        }
    }
    Ok(())
}

fn read(folder: &Path, name: &str) -> Result<Sabotage, String> {
    Sabotage::read(&folder.join(name).with_extension("sabotage"))
        .map_err(|error| format!("{name}: {error}"))
}

fn apply(sources: &Path, folder: &Path, name: &str) -> Result<(), String> {
    let texts = read(folder, name)?.edited(sources);
    for (file, text) in texts.map_err(|error| format!("{name}: {error}"))? {
        fs::write(sources.join(&file), text).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(())
}

fn weave(sources: &Path, folder: &Path, names: &[&str]) -> Result<(), String> {
    let mut weaver = Weaver::new(sources);
    for name in names {
        let texts = read(folder, name)?.edited(sources);
        match texts.and_then(|texts| weaver.add(name, &texts)) {
            Ok(()) => println!("{name}"),
            Err(reason) => eprintln!("{name}: {reason}"),
        }
    }
    let lines = weaver.write();
    let written = lines.and_then(|lines| lines.write(sources));
    written.map_err(|error| format!("cannot write the sources: {error}"))
}

fn broken(sources: &Path) -> Result<(), String> {
    let lines =
        Lines::read(sources).map_err(|error| format!("the lines of the sabotages: {error}"))?;
    let messages = io::read_to_string(io::stdin()).map_err(|error| error.to_string())?;
    for name in Broken::among(&messages, &lines).names {
        println!("{name}");
    }
    Ok(())
}

fn programs() -> Result<(), String> {
    for line in io::stdin().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let (Some(program), Some(manifest), Some(package), Some(target)) = (
            message["executable"].as_str(),
            message["manifest_path"].as_str(),
            message["package_id"].as_str(),
            message["target"]["name"].as_str(),
        ) else {
            continue;
        };
        let folder = manifest.trim_end_matches("/Cargo.toml");
        // An identifier ends in `#name@version`, or in `#version` if the folder bears the name.
        let package = match package.rsplit_once('#').unwrap_or_default() {
            (_, name) if name.contains('@') => name.split('@').next().unwrap_or_default(),
            _ => folder.rsplit('/').next().unwrap_or_default(),
        };
        let is_test = message["profile"]["test"] == true;
        match message["target"]["kind"][0].as_str() {
            Some("lib") if is_test => println!("-p {package} --lib\t{program}\t{folder}"),
            Some("test") => println!("-p {package} --test {target}\t{program}\t{folder}"),
            _ => {}
        }
    }
    Ok(())
}
