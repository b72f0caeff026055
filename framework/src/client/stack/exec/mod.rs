//! Credential plugins: programs that print credentials, as `users[].exec` of a kubeconfig names them.
//!
//! | file | holds |
//! | --- | --- |
//! | `plugin.rs` | [`Plugin`]: when to run the command, and the last credentials |
//! | `run.rs` | runs the command once |
//! | `info.rs` | the variable `KUBERNETES_EXEC_INFO` |
//! | `credential.rs`, `validity.rs` | [`Credential`]: reads the output, and when a certificate is valid |

mod credential;
mod info;
mod plugin;
mod run;
mod validity;

pub(super) use credential::Credential;
pub(super) use plugin::Plugin;
use validity::Validity;
