use std::fmt;

use crate::trial::Verdict;

/// The share that must be caught, in thousandths.
const THRESHOLD: usize = 850;

/// What became of the changes of a subject.
pub(crate) struct Results {
    subject: String,
    /// Those that are in the sources.
    pub(crate) woven: Vec<String>,
    /// Those that cannot have a switch, and why.
    pub(crate) left_out: Vec<(String, String)>,
    /// Those that do not compile.
    pub(crate) broken: Vec<String>,
    pub(crate) verdicts: Vec<(String, Verdict)>,
}

impl Results {
    pub(crate) fn new(subject: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            woven: Vec::new(),
            left_out: Vec::new(),
            broken: Vec::new(),
            verdicts: Vec::new(),
        }
    }

    pub(crate) fn is_enough(&self) -> bool {
        !self.verdicts.is_empty() && self.share() >= THRESHOLD
    }

    /// The share that was caught, in thousandths.
    fn share(&self) -> usize {
        let caught = self.verdicts.len() - self.missed().count();
        caught * 1000 / self.verdicts.len().max(1)
    }

    fn missed(&self) -> impl Iterator<Item = &str> {
        let all = self.verdicts.iter();
        let missed = all.filter(|(_, verdict)| matches!(verdict, Verdict::Missed));
        missed.map(|(name, _)| name.as_str())
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, missed) = (self.verdicts.len(), self.missed().count());
        let ended = |(_, verdict): &&(String, Verdict)| matches!(verdict, Verdict::Ended(_));
        let ended = self.verdicts.iter().filter(ended).count();
        writeln!(
            f,
            "{}: {}.{} % of {all} changes caught: {} failed a test, {ended} did not end, {missed} missed; \
             {} more did not compile, {} could not be switched",
            self.subject,
            self.share() / 10,
            self.share() % 10,
            all - ended - missed,
            self.broken.len(),
            self.left_out.len(),
        )?;
        for name in self.missed() {
            writeln!(f, "  missed: {name}")?;
        }
        for (name, reason) in &self.left_out {
            writeln!(f, "  not switched: {name}: {reason}")?;
        }
        Ok(())
    }
}
