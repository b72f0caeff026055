//! The command line of the program: the part of that of Rust's own test harness that selects and lists cases.

/// What a command line selects.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    filters: Vec<String>,
    skipped: Vec<String>,
    exact: bool,
    ignored: bool,
    pub(crate) list: bool,
}

impl Arguments {
    /// Reads arguments.
    ///
    /// # Errors
    /// An unknown option, or an option without its value.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--exact" => parsed.exact = true,
                "--list" => parsed.list = true,
                // No case is ignored, so this selects none.
                "--ignored" => parsed.ignored = true,
                "--skip" => {
                    let value = arguments.next();
                    let value = value.ok_or("--skip needs a part of a name: --skip watches/")?;
                    parsed.skipped.push(value);
                }
                // Output is never captured, and scenarios run at once in any case.
                "--include-ignored" | "--nocapture" | "--no-capture" | "--quiet" | "-q" => {}
                option if option.starts_with('-') => {
                    return Err(format!(
                        "unknown option {option}: known are --list, --exact, --skip NAME, --ignored and --include-ignored"
                    ));
                }
                _ => parsed.filters.push(argument),
            }
        }
        Ok(parsed)
    }

    /// Whether all cases are selected.
    pub(crate) fn select_all(&self) -> bool {
        self.filters.is_empty() && self.skipped.is_empty() && !self.ignored
    }

    /// Whether a case is selected.
    pub(crate) fn select(&self, case: &str) -> bool {
        let matches = |part: &String| match self.exact {
            true => case == part,
            false => case.contains(part.as_str()),
        };
        !self.ignored
            && (self.filters.is_empty() || self.filters.iter().any(matches))
            && !self.skipped.iter().any(matches)
    }
}
