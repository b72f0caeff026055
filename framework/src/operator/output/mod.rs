//! Folders of generated files that are under version control.
//!
//! A folder has a record of its generated files, `.generated`, with a checksum of each. So a file that was changed by hand is noticed,
//! a file that is not generated any more is removed, and files of the user's own in the same folder are left alone. Lines between
//! the marks `BEGIN own …` and `END own …` belong to the user: they are kept, and do not count for the checksum.
//!
//! All files are written beside their places before the first one is moved there. If the process ends meanwhile, the next run does what
//! is left.
//!
//! | file | holds |
//! | --- | --- |
//! | `folder.rs` | [`Folder`]: writes and checks the files |
//! | `record.rs` | the record of the generated files |
//! | `places.rs` | the lines between the marks |

mod folder;
#[cfg(test)]
mod folder_test;
mod places;
mod record;

pub(super) use folder::{Folder, Output};
