use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::flags::Flags;
use super::{etcd, kube_apiserver};
use crate::Result;

/// The part that the program plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Program {
    KubeApiserver,
    Etcd,
}

impl Program {
    /// The part by the name under which the program was started; `None` for its own name.
    pub(crate) fn of(name: &OsStr) -> Option<Self> {
        match Path::new(name).file_stem()?.to_str()? {
            "kube-apiserver" => Some(Self::KubeApiserver),
            "etcd" => Some(Self::Etcd),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::Etcd => "etcd",
        }
    }

    /// The flags that have an effect.
    fn known(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::KubeApiserver => kube_apiserver::FLAGS,
            Self::Etcd => etcd::FLAGS,
        }
    }

    /// Runs until a signal stops it.
    pub(crate) async fn run(self, words: impl Iterator<Item = OsString>) -> Result<()> {
        let flags = Flags::read(words)?;
        if flags.is_set("help") || flags.is_set("h") {
            print!("{}", self.help());
            return Ok(());
        }
        let known: Vec<&str> = self.known().iter().map(|(name, _)| *name).collect();
        let ignored = flags.others(&known);
        if !ignored.is_empty() {
            eprintln!(
                "{}: the sandbox ignores these flags: {}",
                self.name(),
                ignored.join(", ")
            );
        }
        match self {
            Self::KubeApiserver => kube_apiserver::run(&flags).await,
            Self::Etcd => etcd::run(&flags).await,
        }
    }

    fn help(self) -> String {
        let mut text = format!(
            "{} of pilothouse-sandbox, for envtest. These flags have an effect, all others are ignored:\n",
            self.name()
        );
        for (name, help) in self.known() {
            text += &format!("      --{name:<24} {help}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_chooses_the_program() {
        let of = |name| Program::of(OsStr::new(name));
        assert_eq!(of("/bin/kube-apiserver"), Some(Program::KubeApiserver));
        assert_eq!(of("etcd.exe"), Some(Program::Etcd));
        assert_eq!(of("pilothouse-sandbox"), None);
    }
}
