use std::{fmt, sync::Arc};

use parking_lot::RwLock;

use super::{Entry, Outcome, Query, Report, catch_panic};

/// The result of a check: `Ok` if the part works, otherwise the reason.
pub type Health = Result<(), String>;

type Check = Arc<dyn Fn() -> Result<Option<String>, String> + Send + Sync>;

/// The named checks of one health endpoint. Clones share them.
///
/// An endpoint without checks passes.
#[derive(Clone)]
pub struct Checks {
    endpoint: Arc<str>,
    checks: Arc<RwLock<Vec<(String, Check)>>>,
}

impl Checks {
    /// Creates an empty set for the endpoint `endpoint`, such as `readyz`.
    pub fn new(endpoint: &str) -> Self {
        Self {
            endpoint: endpoint.into(),
            checks: Arc::default(),
        }
    }

    /// Adds a check, or replaces the check with the same name. `check` must return at once: it must not
    /// block and must not compute for long.
    pub fn add(&self, name: impl Into<String>, check: impl Fn() -> Health + Send + Sync + 'static) {
        self.insert(name.into(), Arc::new(move || check().map(|()| None)));
    }

    /// As [`add`](Self::add), for a check that may also report details when it passes. `?verbose` shows
    /// them.
    pub fn add_with_details(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Result<Option<String>, String> + Send + Sync + 'static,
    ) {
        self.insert(name.into(), Arc::new(check));
    }

    /// As [`add`](Self::add), but only if no check has the name. Returns whether it was added.
    pub(crate) fn add_new(
        &self,
        name: String,
        check: impl Fn() -> Health + Send + Sync + 'static,
    ) -> bool {
        let mut checks = self.checks.write();
        let is_new = checks.iter().all(|(present, _)| *present != name);
        if is_new {
            checks.push((name, Arc::new(move || check().map(|()| None))));
        }
        is_new
    }

    fn insert(&self, name: String, check: Check) {
        let mut checks = self.checks.write();
        match checks.iter_mut().find(|(present, _)| *present == name) {
            Some((_, present)) => *present = check,
            None => checks.push((name, check)),
        }
    }

    /// Runs every check that is not excluded, in the order in which the checks were added.
    pub fn report(&self, query: &Query) -> Report {
        let checks = self.snapshot();
        let is_known = |excluded: &String| checks.iter().any(|(name, _)| name == excluded);
        let mut unknown = query.exclude.clone();
        unknown.retain(|excluded| !is_known(excluded));
        unknown.sort();
        unknown.dedup();
        let entries = checks
            .into_iter()
            .map(|(name, check)| Entry {
                outcome: if query.exclude.contains(&name) {
                    Outcome::Excluded
                } else {
                    run(&check)
                },
                name,
            })
            .collect();
        Report {
            endpoint: self.endpoint.to_string(),
            verbose: query.verbose,
            entries,
            unknown,
        }
    }

    /// Runs the check `name`. Returns `None` if no check has that name.
    pub fn report_one(&self, name: &str, query: &Query) -> Option<Report> {
        let (name, check) = self
            .snapshot()
            .into_iter()
            .find(|(present, _)| present == name)?;
        Some(Report {
            endpoint: format!("{}/{name}", self.endpoint),
            verbose: query.verbose,
            entries: vec![Entry {
                outcome: run(&check),
                name,
            }],
            unknown: Vec::new(),
        })
    }

    /// Copies the checks, so that none runs under the lock: a check may be slow or add another check.
    fn snapshot(&self) -> Vec<(String, Check)> {
        self.checks.read().clone()
    }
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.snapshot().into_iter().map(|(name, _)| name).collect();
        f.debug_struct("Checks")
            .field("endpoint", &self.endpoint)
            .field("names", &names)
            .finish()
    }
}

fn run(check: &Check) -> Outcome {
    match catch_panic(|| check()) {
        Ok(Ok(None)) => Outcome::Ok,
        Ok(Ok(Some(how))) => Outcome::OkWithDetails(how),
        Ok(Err(reason)) => Outcome::Failed(reason),
        Err(panic) => Outcome::Failed(format!("the check panicked: {panic}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Checks {
        let checks = Checks::new("readyz");
        checks.add("ping", || Ok(()));
        checks.add("informers", || Err("not\nsynced".into()));
        checks
    }

    fn text(checks: &Checks, query: &str) -> String {
        checks.report(&Query::parse(Some(query))).to_string()
    }

    #[test]
    fn a_passing_report_is_one_word_and_verbose_names_each_check() {
        let checks = Checks::new("livez");
        assert_eq!(text(&checks, ""), "ok");
        checks.add("ping", || Ok(()));
        assert_eq!(text(&checks, ""), "ok");
        assert_eq!(text(&checks, "verbose"), "[+]ping ok\nlivez check passed\n");
    }

    #[test]
    fn details_of_a_passing_check_are_shown_only_with_verbose() {
        let checks = Checks::new("readyz");
        checks.add_with_details("leader-election", || {
            Ok(Some("standing by,\nother leads".into()))
        });
        checks.add_with_details("informers", || Ok(None));
        assert_eq!(text(&checks, ""), "ok");
        assert_eq!(
            text(&checks, "verbose"),
            "[+]leader-election ok: standing by, other leads\n[+]informers ok\nreadyz check passed\n"
        );
    }

    #[test]
    fn a_failure_names_each_check_with_its_reason_on_one_line() {
        assert_eq!(
            text(&checks(), ""),
            "[+]ping ok\n[-]informers failed: not synced\nreadyz check failed\n"
        );
    }

    #[test]
    fn an_excluded_check_does_not_count_and_an_unknown_one_is_reported() {
        assert_eq!(text(&checks(), "exclude=informers"), "ok");
        assert_eq!(
            text(&checks(), "verbose&exclude=informers&exclude=etcd"),
            "[+]ping ok\n[+]informers excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"etcd\"\nreadyz check passed\n"
        );
    }

    #[test]
    fn an_unknown_excluded_name_is_reported_in_the_api_servers_words() {
        // Each name appears once, quoted. Without `verbose` a passing report stays one word.
        let exclude = "exclude=informers&exclude=b&exclude=a%22%0Ax&exclude=b";
        assert_eq!(text(&checks(), exclude), "ok");
        assert_eq!(
            text(&checks(), &format!("verbose&{exclude}")),
            "[+]ping ok\n[+]informers excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"a\\\"\\nx\",\"b\"\nreadyz check passed\n"
        );
        assert_eq!(
            text(&checks(), "exclude=etcd"),
            "[+]ping ok\n[-]informers failed: not synced\nwarn: some health checks cannot be excluded: no matches for \"etcd\"\nreadyz check failed\n"
        );
    }

    #[test]
    fn one_check_runs_alone() {
        let query = Query::parse(Some("verbose"));
        let report = checks().report_one("ping", &query).unwrap();
        assert_eq!(report.to_string(), "[+]ping ok\nreadyz/ping check passed\n");
        assert_eq!(checks().report_one("etcd", &query), None);
    }

    #[test]
    fn a_check_that_panics_has_failed_and_the_others_still_run() {
        let checks = checks();
        checks.add("informers", || panic!("broken"));
        checks.add("last", || Ok(()));
        assert_eq!(
            text(&checks, ""),
            "[+]ping ok\n[-]informers failed: the check panicked: broken\n[+]last ok\nreadyz check failed\n"
        );
    }
}
