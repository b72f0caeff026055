use fastrand::Rng;

/// The most repetitions of a part that may occur any number of times.
const MOST: usize = 3;

/// A text that fits a regular expression. `None` for an expression with parts that are not known here: only literals, classes, groups,
/// alternatives and repetitions are.
pub(super) fn text(pattern: &str, random: &mut Rng) -> Option<String> {
    let mut parser = Parser {
        rest: pattern.chars().collect(),
        at: 0,
        random,
    };
    let text = parser.alternatives()?;
    (parser.at == parser.rest.len()).then_some(text)
}

struct Parser<'a> {
    rest: Vec<char>,
    at: usize,
    random: &'a mut Rng,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn takes(&mut self, expected: char) -> bool {
        let takes = self.peek() == Some(expected);
        self.at += usize::from(takes);
        takes
    }

    fn alternatives(&mut self) -> Option<String> {
        let mut all = vec![self.sequence()?];
        while self.takes('|') {
            all.push(self.sequence()?);
        }
        let chosen = self.random.usize(..all.len());
        Some(all.swap_remove(chosen))
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(next) = self.peek() {
            if matches!(next, '|' | ')') {
                break;
            }
            if matches!(next, '^' | '$') {
                self.at += 1;
                continue;
            }
            let begin = self.at;
            let first = self.part()?;
            let end = self.at;
            let (least, most) = self.repetition()?;
            let after = self.at;
            let count = self.random.usize(least..=most.max(least));
            for number in 0..count {
                if number == 0 {
                    text.push_str(&first);
                    continue;
                }
                // Each repetition makes choices of its own.
                self.at = begin;
                let again = self.part()?;
                debug_assert_eq!(self.at, end);
                text.push_str(&again);
            }
            self.at = after;
        }
        Some(text)
    }

    fn part(&mut self) -> Option<String> {
        match self.next()? {
            '(' => {
                if self.takes('?') && !(self.takes(':')) {
                    return None;
                }
                let inner = self.alternatives()?;
                self.takes(')').then_some(inner)
            }
            '[' => self.class().map(String::from),
            '.' => Some("x".into()),
            '\\' => {
                let set = escaped(self.next()?)?;
                self.one_of(&set).map(String::from)
            }
            '*' | '+' | '?' | '{' => None,
            literal => Some(literal.into()),
        }
    }

    fn repetition(&mut self) -> Option<(usize, usize)> {
        let found = match self.peek() {
            Some('?') => (0, 1),
            Some('*') => (0, MOST),
            Some('+') => (1, MOST),
            Some('{') => return self.counted(),
            _ => return Some((1, 1)),
        };
        self.at += 1;
        self.takes('?');
        Some(found)
    }

    fn counted(&mut self) -> Option<(usize, usize)> {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.next()? {
                '}' => break,
                next => text.push(next),
            }
        }
        let (least, most) = match text.split_once(',') {
            None => (text.as_str(), text.as_str()),
            Some(both) => both,
        };
        let least: usize = least.parse().ok()?;
        let most = match most {
            "" => least + MOST,
            most => most.parse().ok()?,
        };
        Some((least, most.min(least + 10)))
    }

    fn class(&mut self) -> Option<char> {
        let is_negated = self.takes('^');
        let mut set = Vec::new();
        loop {
            let next = self.next()?;
            match next {
                ']' if !set.is_empty() => break,
                '\\' => set.extend(escaped(self.next()?)?),
                // `[:alpha:]` and the like.
                '[' => return None,
                first => {
                    let is_range = self.peek() == Some('-')
                        && self.rest.get(self.at + 1).is_some_and(|last| *last != ']');
                    if is_range {
                        self.at += 1;
                        let last = self.next()?;
                        set.extend(first..=last);
                    } else {
                        set.push(first);
                    }
                }
            }
        }
        if is_negated {
            let others: Vec<char> = ('a'..='z')
                .chain('0'..='9')
                .filter(|one| !set.contains(one))
                .collect();
            return self.one_of(&others);
        }
        self.one_of(&set)
    }

    fn one_of(&mut self, set: &[char]) -> Option<char> {
        (!set.is_empty()).then(|| set[self.random.usize(..set.len())])
    }
}

/// The characters that an escape stands for.
fn escaped(letter: char) -> Option<Vec<char>> {
    Some(match letter {
        'd' => ('0'..='9').collect(),
        'w' => ('a'..='z').chain('0'..='9').chain(['_']).collect(),
        's' => vec![' '],
        letter if letter.is_ascii_alphanumeric() => return None,
        literal => vec![literal],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_their_pattern() {
        let mut random = Rng::with_seed(1);
        for _ in 0..100 {
            let word = text("^[a-c]{2,3}$", &mut random).unwrap();
            assert!(
                matches!(word.len(), 2..=3) && word.chars().all(|one| ('a'..='c').contains(&one))
            );
            let time = text(r"^(\d+h)?(\d{2}m)$", &mut random).unwrap();
            assert!(time.ends_with('m') && !time.contains('\\'), "{time}");
            let either = text("^(a|b\\.c)-[^x]$", &mut random).unwrap();
            assert!(
                either.starts_with("a-") || either.starts_with("b.c-"),
                "{either}"
            );
        }
        for unknown in ["(?i)a", r"\p{L}", "[[:alpha:]]", "a)", "("] {
            assert_eq!(text(unknown, &mut random), None, "{unknown}");
        }
    }
}
