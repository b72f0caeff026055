//! Objects in protobuf. A Go program writes them once, because Go has the definitions.

use std::{
    error::Error,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::peer::{self, Folders};
use crate::generator::{Generator, Kind};

/// The number of objects whose hash identifies a state of the generator.
const SAMPLE: u64 = 100;

/// Returns the file of these objects for the server's `--protobuf`, and writes it if it does not exist.
pub(super) fn file(
    folders: &Folders,
    seed: u64,
    kind: Kind,
    count: u64,
) -> Result<PathBuf, Box<dyn Error>> {
    let folder = folders.peers_target().join("objects");
    fs::create_dir_all(&folder)?;
    let go = folders.peers().join("go");
    let sources = [
        fs::read_to_string(go.join("go.mod"))?,
        fs::read_to_string(go.join("dump/main.go"))?,
    ];
    let generator = Generator::new(seed);
    let file = folder.join(name(&generator, seed, kind, count, &sources));
    if !file.exists() {
        eprintln!("writing {count} {} in protobuf", kind.plural());
        let dump = folder.join("dump");
        peer::build_go(folders, "dump", &dump)?;
        // The file gets its final name only when it is complete.
        let partial = file.with_extension("partial");
        write(&dump, &generator, kind, count, &partial)?;
        // Remove the files of other generator states: they are large and useless.
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

/// Returns the file name. Other objects or another version of the Go program give another name.
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

/// Returns the start of the file names for these objects.
fn stem(seed: u64, kind: Kind, count: u64) -> String {
    format!("{}-{seed}-{count}-", kind.shape())
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
    // Report the exit status first: it says more than a write error on its input.
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(written??)
}
