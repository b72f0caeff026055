use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file that only the present user can read. It replaces an older one in one step, so that nobody reads half of it.
///
/// # Errors
/// What went wrong, with the path.
pub(crate) fn write(path: &Path, content: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    let written = create(&beside).and_then(|mut file| file.write_all(content.as_bytes()));
    let written = written.and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        io::Error::new(error.kind(), format!("write {}: {error}", path.display()))
    })
}

fn create(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
