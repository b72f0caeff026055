use std::fmt;

use serde_json::Value;

use super::PREFIX;
use crate::error::Cause;

/// How much a standard forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "privileged" => Self::Privileged,
            "baseline" => Self::Baseline,
            "restricted" => Self::Restricted,
            _ => return None,
        })
    }
}

/// The version of a standard: that of a Kubernetes 1.x, or the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Latest,
    Minor(u32),
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let minor = text.strip_prefix("v1.")?;
        let is_number = minor.bytes().all(|byte| byte.is_ascii_digit());
        let has_zeros = minor.len() > 1 && minor.starts_with('0');
        let minor = minor.parse().ok().filter(|_| is_number && !has_zeros);
        minor.map(Self::Minor)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: Level,
    pub(super) version: Version,
}

impl Standard {
    const NONE: Self = Self {
        level: Level::Privileged,
        version: Version::Latest,
    };
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        })?;
        match self.version {
            Version::Latest => f.write_str(":latest"),
            Version::Minor(minor) => write!(f, ":v1.{minor}"),
        }
    }
}

/// The standards of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: Standard,
    pub(super) audit: Standard,
    pub(super) warn: Standard,
}

impl Policy {
    /// Reads the labels of a namespace. Returns what is wrong with them, too: a wrong level enforces the strictest one, and warns about
    /// nothing.
    pub(super) fn of(labels: &Value) -> (Self, Vec<Cause>) {
        let mut wrong = Vec::new();
        let enforce = read(labels, "enforce", Level::Restricted, &mut wrong);
        let audit = read(labels, "audit", Level::Privileged, &mut wrong);
        let mut warn = read(labels, "warn", Level::Privileged, &mut wrong);
        // A namespace that enforces a standard also warns about workloads that violate it. The label `warn` can name another standard.
        let enforced = label(labels, "enforce").and_then(Level::parse);
        if label(labels, "warn").is_none() && enforced.is_some_and(|level| level > warn.level) {
            warn.level = enforce.level;
            if label(labels, "warn-version").is_none() {
                warn.version = enforce.version;
            }
        }
        let policy = Self {
            enforce,
            audit,
            warn,
        };
        (policy, wrong)
    }
}

fn label<'a>(labels: &'a Value, name: &str) -> Option<&'a str> {
    labels.get(format!("{PREFIX}{name}"))?.as_str()
}

fn read(labels: &Value, mode: &str, otherwise: Level, wrong: &mut Vec<Cause>) -> Standard {
    let mut standard = Standard::NONE;
    let mut refuse = |name: &str, value: &str, detail: &str| {
        let field = format!("metadata.labels[{PREFIX}{name}]");
        wrong.push(Cause::invalid(field, &value.into(), detail));
    };
    if let Some(text) = label(labels, mode) {
        standard.level = Level::parse(text).unwrap_or_else(|| {
            refuse(
                mode,
                text,
                "must be one of privileged, baseline, restricted",
            );
            otherwise
        });
    }
    let name = format!("{mode}-version");
    if let Some(text) = label(labels, &name) {
        standard.version = Version::parse(text).unwrap_or_else(|| {
            refuse(&name, text, "must be \"latest\" or \"v1.x\"");
            Version::Latest
        });
    }
    standard
}
