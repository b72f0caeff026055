//! Folders of generated files that are under version control.
//!
//! A folder has a record of its generated files, `.generated`, with a checksum of each. So a file that was changed by hand is noticed,
//! a file that is not generated any more is removed, and files of the user's own in the same folder are left alone. Lines between
//! the marks `BEGIN own …` and `END own …` belong to the user: they are kept, and do not count for the checksum.
//!
//! | file | holds |
//! | --- | --- |
//! | `folder.rs` | [`Folder`]: writes and checks the files |
//! | `places.rs` | the lines between the marks |

mod folder;
mod places;

pub(super) use folder::{Folder, Output};
