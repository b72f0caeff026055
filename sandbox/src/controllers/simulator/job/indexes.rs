use std::collections::BTreeSet;
use std::fmt;

/// A set of completion indexes. Its text is that of `status.completedIndexes`: `0-2,5`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(BTreeSet<i64>);

impl Indexes {
    /// Reads the text of a set. Indexes from `end` on and parts that are no numbers are left out.
    pub(super) fn parse(text: &str, end: i64) -> Self {
        let mut all = BTreeSet::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
                all.extend(first.max(0)..=last.min(end - 1));
            }
        }
        Self(all)
    }

    pub(super) fn insert(&mut self, index: i64) {
        self.0.insert(index);
    }

    pub(super) fn contains(&self, index: i64) -> bool {
        self.0.contains(&index)
    }

    pub(super) fn count(&self) -> i64 {
        i64::try_from(self.0.len()).unwrap_or(i64::MAX)
    }

    /// How many indexes both sets have.
    pub(super) fn common(&self, other: &Self) -> i64 {
        i64::try_from(self.0.intersection(&other.0).count()).unwrap_or(i64::MAX)
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.iter().copied().peekable();
        let mut separator = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while rest.next_if(|next| *next == last + 1).is_some() {
                last += 1;
            }
            write!(f, "{separator}{first}")?;
            separator = ",";
            match last - first {
                0 => {}
                1 => write!(f, ",{last}")?,
                _ => write!(f, "-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Indexes;

    #[test]
    fn a_text_names_runs_of_three_and_more_as_a_range() {
        for text in ["", "0", "0,1", "0-2", "1,3-5,7,8"] {
            assert_eq!(Indexes::parse(text, 10).to_string(), text);
        }
        assert_eq!(Indexes::parse("x,2-20,-1", 4).to_string(), "2,3");
        assert_eq!(Indexes::parse("0-99999999999", 2).count(), 2);
    }
}
