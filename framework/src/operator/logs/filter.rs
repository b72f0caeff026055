use std::{fmt, str::FromStr};

use tracing_subscriber::filter::{LevelFilter, Targets};

/// The default filter.
pub(in crate::operator) const DEFAULT_FILTER: &str = "info";

/// A log filter: a level, or levels by target, such as `info,pilothouse::client=debug`. The filter of
/// tracing-subscriber by spans and fields is not used, because it needs a regular expression engine.
///
/// The crates of [`QUIET`] log only errors unless the filter names them.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::operator) struct Filter(pub(super) Targets);

/// The crates below HTTP and TLS. Any peer can make them log a warning for each of its connections. The colons keep other
/// crates apart whose names begin in the same way.
const QUIET: [&str; 5] = [
    "h2::",
    "hyper::",
    "hyper_util::",
    "rustls::",
    "tokio_rustls::",
];

impl Filter {
    /// The filter of the user's own items.
    fn new(own: Targets) -> Self {
        if own.default_level() <= Some(LevelFilter::ERROR) {
            return Self(own);
        }
        let is_named = |quiet: &&str| {
            let name = quiet.trim_end_matches(':');
            own.iter().any(|(target, _)| target == name)
        };
        let quiet = QUIET.into_iter().filter(|quiet| !is_named(quiet));
        let quiet: Targets = quiet.map(|target| (target, LevelFilter::ERROR)).collect();
        // The user's items come later, so that they replace equal ones.
        let default = own.default_level();
        let all = quiet.with_targets(own.iter());
        Self(default.into_iter().fold(all, Targets::with_default))
    }
}

/// The default level.
impl Default for Filter {
    fn default() -> Self {
        Self::new(Targets::new().with_default(LevelFilter::INFO))
    }
}

impl FromStr for Filter {
    type Err = String;

    /// Each item is a level or `target=level`. tracing-subscriber also takes a word that is no level, as a target: a
    /// mistyped level would be a filter that no message passes.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut filter = Targets::new();
        for item in text.split(',').map(str::trim) {
            filter = match item.split_once('=') {
                None => filter.with_default(level(item)?),
                Some((target, of)) => {
                    let target = target.trim();
                    if target.is_empty() {
                        return Err(format!("`{item}` has no module before the `=`: {EXAMPLE}"));
                    }
                    filter.with_target(target, level(of.trim())?)
                }
            };
        }
        Ok(Self::new(filter))
    }
}

const EXAMPLE: &str = "write a level such as `debug`, or `info,pilothouse=debug`";

/// A level by its name in any case, or by its number.
fn level(text: &str) -> Result<LevelFilter, String> {
    let problem = match text {
        "" => "a level is missing".to_owned(),
        // tracing-subscriber takes an empty text as a level.
        _ => match text.parse() {
            Ok(level) => return Ok(level),
            Err(_) => format!("unknown level `{text}`"),
        },
    };
    Err(format!(
        "{problem}: {EXAMPLE}; the levels are off, error, warn, info, debug and trace"
    ))
}

/// Without the items that are in each filter.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quiet =
            |item: &(&str, LevelFilter)| QUIET.contains(&item.0) && item.1 == LevelFilter::ERROR;
        let own: Targets = self.0.iter().filter(|item| !quiet(item)).collect();
        let default = self.0.default_level();
        default.into_iter().fold(own, Targets::with_default).fmt(f)
    }
}

/// Parses a filter.
///
/// # Errors
/// The problem, and what to write.
pub(in crate::operator) fn parse_filter(text: &str) -> Result<Filter, String> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_filter_is_a_level_or_levels_by_module() {
        let passes = |filter: &str, target: &str, level: Level| {
            let filter = filter.parse::<Filter>().unwrap();
            filter.0.would_enable(target, &level)
        };
        for filter in [
            "info",
            "INFO",
            "3",
            " info ",
            "web=off,info",
            "warn, web::a = info",
        ] {
            assert!(
                passes(filter, "web::a", Level::INFO) || filter.contains("off"),
                "{filter}"
            );
            assert!(!passes(filter, "web::a", Level::DEBUG), "{filter}");
            assert!(passes(filter, "other", Level::WARN), "{filter}");
        }
        assert!(passes("info,web=debug", "web::a", Level::DEBUG));
        assert!(!passes("info,web=debug", "other", Level::DEBUG));
        assert!(!passes("web=debug", "other", Level::ERROR));
        assert!(!passes("off", "web", Level::ERROR));
    }

    #[test]
    fn the_crates_below_http_and_tls_log_only_errors_unless_they_are_named() {
        let passes = |filter: &Filter, target: &str, level| filter.0.would_enable(target, &level);
        let of = |text: &str| text.parse::<Filter>().unwrap();
        for quiet in QUIET {
            let target = format!("{quiet}proto");
            for filter in [Filter::default(), of("info"), of("trace,web=debug")] {
                assert!(!passes(&filter, &target, Level::WARN), "{target}");
                assert!(passes(&filter, &target, Level::ERROR), "{target}");
            }
            for (filter, level) in [("off", Level::ERROR), ("error", Level::WARN)] {
                assert!(!passes(&of(filter), &target, level), "{filter} {target}");
            }
            assert!(!passes(&of("web=info"), &target, Level::ERROR));
            let name = quiet.trim_end_matches(':');
            assert!(passes(
                &of(&format!("info,{name}=debug")),
                &target,
                Level::DEBUG
            ));
        }
        let one_module = of("info,h2::proto=warn");
        assert!(passes(&one_module, "h2::proto::streams", Level::WARN));
        assert!(!passes(&one_module, "h2::codec", Level::WARN));
        for other in ["h2o", "hyperspace::drive", "rustls_like"] {
            assert!(passes(&Filter::default(), other, Level::INFO), "{other}");
        }
        for text in ["info", "h2=debug,info", "web=debug,warn", "off"] {
            let filter = of(text);
            assert_eq!(of(&filter.to_string()), filter, "{text}");
            assert!(!filter.to_string().contains("::"), "{filter}");
        }
    }

    #[test]
    fn a_word_that_is_no_level_is_an_error_with_an_example() {
        let levels = "; the levels are off, error, warn, info, debug and trace";
        for (filter, problem) in [
            ("infoo", "unknown level `infoo`"),
            ("info,web", "unknown level `web`"),
            ("web=loud", "unknown level `loud`"),
            ("web=a=info", "unknown level `a=info`"),
            ("6", "unknown level `6`"),
            ("", "a level is missing"),
            (" ", "a level is missing"),
            ("info,", "a level is missing"),
            ("web=", "a level is missing"),
        ] {
            let expected = format!("{problem}: {EXAMPLE}{levels}");
            assert_eq!(parse_filter(filter), Err(expected), "{filter}");
        }
        let error = parse_filter("=info").unwrap_err();
        assert_eq!(
            error,
            format!("`=info` has no module before the `=`: {EXAMPLE}")
        );
    }
}
