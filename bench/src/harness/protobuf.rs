//! Objects in protobuf, made once by Go, which has the definitions.

use std::{
    error::Error,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::peer::{self, Place};
use crate::generator::{Generator, Kind};

/// How many objects tell one state of the generator from another.
const SAMPLE: u64 = 100;

/// The file of these objects for the server's `--protobuf`; it is made unless it is there already.
pub(super) fn file(
    place: &Place,
    seed: u64,
    kind: Kind,
    count: u64,
) -> Result<PathBuf, Box<dyn Error>> {
    let folder = place.kept().join("objects");
    fs::create_dir_all(&folder)?;
    let go = place.peers().join("go");
    let sources = [
        fs::read_to_string(go.join("go.mod"))?,
        fs::read_to_string(go.join("dump/main.go"))?,
    ];
    let generator = Generator::new(seed);
    let file = folder.join(name(&generator, seed, kind, count, &sources));
    if !file.exists() {
        eprintln!("writing {count} {}s in protobuf", kind.name());
        let dump = folder.join("dump");
        peer::build_go(place, "dump", &dump)?;
        // Under its own name only when it is whole.
        let partial = file.with_extension("partial");
        write(&dump, &generator, kind, count, &partial)?;
        // What another state of the generator has left is large, and of no use.
        for old in fs::read_dir(&folder)?.flatten() {
            if old
                .file_name()
                .to_string_lossy()
                .starts_with(&stem(seed, kind, count))
                && old.path() != partial
            {
                fs::remove_file(old.path())?;
            }
        }
        fs::rename(&partial, &file)?;
    }
    Ok(file)
}

/// Other objects, and what another program wrote of them, have another name.
pub(super) fn name(
    generator: &Generator,
    seed: u64,
    kind: Kind,
    count: u64,
    sources: &[String],
) -> String {
    let mut hasher = DefaultHasher::new();
    sources.hash(&mut hasher);
    for number in 0..count.min(SAMPLE) {
        generator.object(kind, number).to_string().hash(&mut hasher);
    }
    format!(
        "{}{:016x}.protobuf",
        stem(seed, kind, count),
        hasher.finish()
    )
}

/// What the names of these objects begin with.
fn stem(seed: u64, kind: Kind, count: u64) -> String {
    format!("{}-{seed}-{count}-", kind.name())
}

fn write(
    dump: &Path,
    generator: &Generator,
    kind: Kind,
    count: u64,
    file: &Path,
) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(dump);
    command
        .arg(kind.name())
        .stdin(Stdio::piped())
        .stdout(File::create(file)?);
    let mut child = command.spawn()?;
    let written = child.stdin.take().ok_or("dump has no input").map(|input| {
        let mut input = BufWriter::new(input);
        (0..count)
            .try_for_each(|number| writeln!(input, "{}", generator.object(kind, number)))
            .and_then(|()| input.flush())
    });
    // What it says on its standard error tells more than that it did not read on.
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(written??)
}
