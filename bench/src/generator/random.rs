/// Random numbers of one seed: SplitMix64, the same on every machine and in every version.
#[derive(Clone, Debug)]
pub struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The ones that belong to these numbers.
    pub fn new(seeds: &[u64]) -> Self {
        let mut random = Self(0);
        for seed in seeds {
            random.0 ^= *seed;
            random.0 = random.number();
        }
        random
    }

    /// The next.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 to below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    /// Whether something happens that happens once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these, of which there is at least one.
    pub fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// Mostly about `least`, seldom many times that, never above `most`.
    pub fn long_tailed(&mut self, least: usize, most: usize) -> usize {
        let number = least as f64 / (1.0 - self.fraction()).powf(0.6);
        (number as usize).clamp(least, most)
    }

    /// So many hexadecimal digits.
    pub fn hex(&mut self, digits: usize) -> String {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            text.push_str(&format!("{:016x}", self.number()));
        }
        text.truncate(digits);
        text
    }

    /// A UID.
    pub fn uid(&mut self) -> String {
        let hex = self.hex(32);
        format!(
            "{}-{}-4{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..]
        )
    }

    /// A time of the year 2026.
    pub fn time(&mut self) -> String {
        format!(
            "2026-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            1 + self.below(12),
            1 + self.below(28),
            self.below(24),
            self.below(60),
            self.below(60)
        )
    }
}

/// The digits of names that Kubernetes makes.
const NAME_DIGITS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Five characters that no other number below 14 million has.
pub(super) fn suffix(number: u64) -> String {
    let all = 27_u64.pow(5);
    // A multiplier without a common factor with `all` gives each number another place.
    let mut rest = (number % all) * 7_368_787 % all;
    (0..5)
        .map(|_| {
            let digit = NAME_DIGITS[(rest % 27) as usize];
            rest /= 27;
            char::from(digit)
        })
        .collect()
}
