use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf, is_separator},
};

use super::ExecConfig;
use crate::client::ConfigError;

/// Which credential plugins the client may run. A kubeconfig names the command, so a program that accepts kubeconfigs
/// from others must limit the commands.
///
/// ```
/// use pilothouse::client::{Config, ExecPolicy};
///
/// # async fn example() -> Result<(), pilothouse::client::ConfigError> {
/// let policy = ExecPolicy::allow(["aws", "/usr/bin/kubelogin"]);
/// let config = Config::infer().await?.with_exec_policy(policy);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecPolicy {
    /// All commands, as kubectl by default.
    #[default]
    AllowAll,
    /// No command.
    DenyAll,
    /// These commands. An entry allows a command that is written in the same way, or that is the same file after both
    /// were looked up in `PATH`.
    Allow(Vec<OsString>),
}

impl ExecPolicy {
    /// Allows only `commands`. An empty list is an error when the client is built; use [`DenyAll`](Self::DenyAll)
    /// instead.
    pub fn allow<T: Into<OsString>>(commands: impl IntoIterator<Item = T>) -> Self {
        Self::Allow(commands.into_iter().map(Into::into).collect())
    }

    /// Checks whether `exec` may run. `origin` says where it is configured.
    pub(crate) fn check(&self, exec: &ExecConfig, origin: &str) -> Result<(), ConfigError> {
        let commands = match self {
            Self::AllowAll => return Ok(()),
            Self::DenyAll => &[],
            Self::Allow(commands) => {
                if commands.is_empty() || commands.iter().any(|command| command.is_empty()) {
                    return Err(ConfigError::new(
                        "the policy for credential plugins names no command, or an empty one: name commands, or use `ExecPolicy::DenyAll`",
                    ));
                }
                &commands[..]
            }
        };
        let command = &exec.command;
        let file = file(command);
        let allowed = commands
            .iter()
            .any(|entry| entry == command || (file.is_some() && self::file(entry) == file));
        if allowed {
            return Ok(());
        }
        let command = command.display();
        Err(ConfigError::new(match commands {
            [] => format!(
                "{origin}: the credential plugin `{command}` must not be run, nor any other: use other credentials here"
            ),
            _ => format!(
                "{origin}: the credential plugin `{command}` is not one of those that may be run: use one of {}, or other credentials",
                commands
                    .iter()
                    .map(|command| format!("`{}`", command.display()))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }))
    }
}

/// The file that `command` starts.
fn file(command: &OsStr) -> Option<PathBuf> {
    if command.to_string_lossy().contains(is_separator) {
        return std::path::absolute(command).ok();
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(Path::new(command)))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_commands_may_run() {
        let sh = file(OsStr::new("sh")).unwrap().into_os_string();
        let policy = ExecPolicy::allow([OsString::from("aws"), "sh".into()]);
        let check = |policy: &ExecPolicy, command: OsString| {
            let checked = policy.check(&ExecConfig::new(command), "user \"u\" in k");
            checked.map_err(|error| error.to_string())
        };
        for command in ["aws".into(), "sh".into(), sh] {
            assert_eq!(check(&policy, command), Ok(()));
        }
        assert_eq!(
            check(&policy, "cat".into()).unwrap_err(),
            "user \"u\" in k: the credential plugin `cat` is not one of those that may be run: use one of `aws`, `sh`, or other credentials"
        );
        check(&policy, "./sh".into()).unwrap_err();
        assert_eq!(
            check(&ExecPolicy::DenyAll, "aws".into()).unwrap_err(),
            "user \"u\" in k: the credential plugin `aws` must not be run, nor any other: use other credentials here"
        );
        assert_eq!(check(&ExecPolicy::AllowAll, "aws".into()), Ok(()));
        for odd in [ExecPolicy::allow([""; 0]), ExecPolicy::allow(["aws", ""])] {
            let error = check(&odd, "aws".into()).unwrap_err();
            assert!(error.contains("DenyAll"), "{error}");
        }
    }
}
