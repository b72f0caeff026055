use pilothouse::prelude::*;

fn main() -> ExitCode {
    file_backup::operator("examples/file-backup/files", "target/file-backup")
        .example("examples/file-backup/backup.yaml")
        .main()
}
