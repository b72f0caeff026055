/// Random numbers from a seed: SplitMix64, the same on every machine and in every version.
#[derive(Clone, Debug)]
pub struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// Returns the generator for these seeds.
    pub fn new(seeds: &[u64]) -> Self {
        let mut random = Self(0);
        for seed in seeds {
            random.0 ^= *seed;
            random.0 = random.number();
        }
        random
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number from 0 to below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    /// Returns `true` once in `times` on average.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns one of the choices, which must not be empty.
    pub fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// Returns a number that is mostly about `least`, seldom many times that, never above `most`.
    pub fn long_tailed(&mut self, least: usize, most: usize) -> usize {
        let number = least as f64 / (1.0 - self.fraction()).powf(0.6);
        (number as usize).clamp(least, most)
    }

    /// Returns this many hexadecimal digits.
    pub fn hex(&mut self, digits: usize) -> String {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            text.push_str(&format!("{:016x}", self.number()));
        }
        text.truncate(digits);
        text
    }

    /// Returns this many bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count + 8);
        while bytes.len() < count {
            bytes.extend_from_slice(&self.number().to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }

    /// Returns a UID.
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

    /// Returns a time in the year 2026.
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

/// The characters that Kubernetes uses in generated names.
const NAME_DIGITS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Returns five characters that are different for each number below 14 million.
pub(super) fn suffix(number: u64) -> String {
    let all = 27_u64.pow(5);
    // A multiplier that is coprime to `all` maps each number to a different one.
    let mut rest = (number % all) * 7_368_787 % all;
    (0..5)
        .map(|_| {
            let digit = NAME_DIGITS[(rest % 27) as usize];
            rest /= 27;
            char::from(digit)
        })
        .collect()
}
