use pilothouse::prelude::*;

fn main() -> ExitCode {
    file_backup::operator("examples/file-backup/files", "target/file-backup")
        .version(env!("CARGO_PKG_VERSION"))
        .example("examples/file-backup/backup.yaml")
        .main()
}
