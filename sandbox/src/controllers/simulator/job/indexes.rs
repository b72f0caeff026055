use std::fmt;

/// A set of completion indexes. Its text is that of `status.completedIndexes`: `0-2,5`.
///
/// It is as large as its text, and not as the number of its indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes {
    /// First and last index of each range, in order, with gaps between them.
    ranges: Vec<(i64, i64)>,
}

impl Indexes {
    /// Reads the text of a set. Indexes from `end` on and parts that are no numbers are left out.
    pub(super) fn parse(text: &str, end: i64) -> Self {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?);
            let (first, last) = (first.max(0), last.min(end - 1));
            (first <= last).then_some((first, last))
        };
        Self::new(text.split(',').filter_map(range).collect())
    }

    fn new(mut all: Vec<(i64, i64)>) -> Self {
        all.sort_unstable();
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for (first, last) in all {
            match ranges.last_mut() {
                Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
                _ => ranges.push((first, last)),
            }
        }
        Self { ranges }
    }

    pub(super) fn insert(&mut self, index: i64) {
        if !self.contains(index) {
            self.ranges.push((index, index));
            *self = Self::new(std::mem::take(&mut self.ranges));
        }
    }

    pub(super) fn contains(&self, index: i64) -> bool {
        self.first_missing(index) != index
    }

    /// The first index from `index` on that is not in the set.
    pub(super) fn first_missing(&self, index: i64) -> i64 {
        let at = self.ranges.partition_point(|(_, last)| *last < index);
        match self.ranges.get(at) {
            Some((first, last)) if *first <= index => last + 1,
            _ => index,
        }
    }

    pub(super) fn count(&self) -> i64 {
        self.ranges
            .iter()
            .map(|(first, last)| last - first + 1)
            .sum()
    }

    /// How many indexes both sets have.
    pub(super) fn common(&self, other: &Self) -> i64 {
        let all = self.ranges.iter().chain(&other.ranges).copied().collect();
        self.count() + other.count() - Self::new(all).count()
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (first, last) in &self.ranges {
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
        let many = Indexes::parse("0-99999999999", i64::MAX);
        assert_eq!(many.count(), 100_000_000_000);
    }

    #[test]
    fn an_index_is_in_the_set_once_it_was_inserted() {
        let mut set = Indexes::parse("0,1,5", 10);
        assert_eq!(
            [0, 1, 2, 5].map(|index| set.first_missing(index)),
            [2, 2, 2, 6]
        );
        set.insert(3);
        set.insert(3);
        set.insert(2);
        assert_eq!((set.to_string().as_str(), set.count()), ("0-3,5", 5));
        assert!(set.contains(2) && !set.contains(4));
        assert_eq!(set.common(&Indexes::parse("3-5", 10)), 2);
    }
}
