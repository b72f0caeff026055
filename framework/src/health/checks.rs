use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError, RwLock},
};

use super::{Entry, Outcome, Query, Report};

/// What a check answers: well, or why not.
pub type Health = Result<(), String>;

type Check = Arc<dyn Fn() -> Result<Option<String>, String> + Send + Sync>;

/// The named checks of one health endpoint. Clones share them.
///
/// An endpoint without checks is well.
#[derive(Clone)]
pub struct Checks {
    endpoint: Arc<str>,
    checks: Arc<RwLock<Vec<(String, Check)>>>,
}

impl Checks {
    /// An empty set, for the endpoint of that name, such as `readyz`.
    pub fn new(endpoint: &str) -> Self {
        Self {
            endpoint: endpoint.into(),
            checks: Arc::default(),
        }
    }

    /// Adds a check, or replaces the one of that name. It must neither block nor take long.
    pub fn add(&self, name: impl Into<String>, check: impl Fn() -> Health + Send + Sync + 'static) {
        self.insert(name.into(), Arc::new(move || check().map(|()| None)));
    }

    /// As [`add`](Self::add), for a check that may have something to say when all is well, too: shown by `?verbose`.
    pub fn add_told(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Result<Option<String>, String> + Send + Sync + 'static,
    ) {
        self.insert(name.into(), Arc::new(check));
    }

    fn insert(&self, name: String, check: Check) {
        let mut checks = self.checks.write().unwrap_or_else(PoisonError::into_inner);
        match checks.iter_mut().find(|(present, _)| *present == name) {
            Some((_, present)) => *present = check,
            None => checks.push((name, check)),
        }
    }

    /// Runs every check that is not excluded, in the order in which they were added.
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

    /// Runs the one check of that name; `None` when there is none.
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

    /// A check may take its time or add another: none runs under the lock.
    fn snapshot(&self) -> Vec<(String, Check)> {
        self.checks
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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
    match catch_unwind(AssertUnwindSafe(|| check())) {
        Ok(Ok(None)) => Outcome::Ok,
        Ok(Ok(Some(how))) => Outcome::Told(how),
        Ok(Err(reason)) => Outcome::Failed(reason),
        Err(_) => Outcome::Failed("the check panicked".into()),
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
    fn all_well_is_one_word_and_verbose_names_each() {
        let checks = Checks::new("livez");
        assert_eq!(text(&checks, ""), "ok");
        checks.add("ping", || Ok(()));
        assert_eq!(text(&checks, ""), "ok");
        assert_eq!(text(&checks, "verbose"), "[+]ping ok\nlivez check passed\n");
    }

    #[test]
    fn what_a_check_has_to_say_is_shown_to_who_asks_for_more() {
        let checks = Checks::new("readyz");
        checks.add_told("leader-election", || {
            Ok(Some("standing by,\nother leads".into()))
        });
        checks.add_told("informers", || Ok(None));
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
    fn an_excluded_check_does_not_count_and_an_unknown_one_is_told() {
        assert_eq!(text(&checks(), "exclude=informers"), "ok");
        assert_eq!(
            text(&checks(), "verbose&exclude=informers&exclude=etcd"),
            "[+]ping ok\n[+]informers excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"etcd\"\nreadyz check passed\n"
        );
    }

    #[test]
    fn what_cannot_be_excluded_is_told_in_the_api_servers_words() {
        // Once for each name, whatever it holds, and nothing at all to who only asks whether all is well.
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
    fn one_check_is_asked_alone() {
        let query = Query::parse(Some("verbose"));
        let report = checks().report_one("ping", &query).unwrap();
        assert_eq!(report.to_string(), "[+]ping ok\nreadyz/ping check passed\n");
        assert_eq!(checks().report_one("etcd", &query), None);
    }

    #[test]
    fn a_check_that_panics_has_failed_and_the_others_answer() {
        let checks = checks();
        checks.add("informers", || panic!("broken"));
        checks.add("last", || Ok(()));
        assert_eq!(
            text(&checks, ""),
            "[+]ping ok\n[-]informers failed: the check panicked\n[+]last ok\nreadyz check failed\n"
        );
    }
}
