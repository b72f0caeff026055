use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    tz::TimeZone,
};

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

impl Validity {
    /// Reads the validity of the certificate in `der` (RFC 5280, 4.1). Reads only enough to find the two times for the
    /// metrics; it does not verify the certificate.
    pub(super) fn of(der: &[u8]) -> Option<Self> {
        let (_, certificate, _) = element(der)?;
        let (_, mut signed, _) = element(certificate)?;
        let (tag, _, after) = element(signed)?;
        if tag == VERSION {
            signed = after;
        }
        // Skips serial number, algorithm and issuer.
        for _ in 0..3 {
            (_, _, signed) = element(signed)?;
        }
        let (SEQUENCE, validity, _) = element(signed)? else {
            return None;
        };
        let (tag, start, rest) = element(validity)?;
        let start = time(tag, start)?;
        let (tag, end, _) = element(rest)?;
        let end = time(tag, end)?;
        Some(Self { start, end })
    }
}

/// The tag and the content of the first element of `der`, and the bytes after it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = der.split_first_chunk()?;
    let (length, rest) = match first {
        0..=0x7f => (first.into(), rest),
        // The length takes as many bytes as the low bits say. No certificate needs more than four.
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            let length = bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`.
fn time(tag: u8, text: &[u8]) -> Option<Timestamp> {
    let digits = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let pair = |at: usize| digits.get(at..at + 2)?.parse::<i16>().ok();
    let (year, at) = match tag {
        // Two digits of a year from 1950 to 2049.
        UTC_TIME => (
            pair(0).map(|year| year + if year < 50 { 2000 } else { 1900 })?,
            2,
        ),
        GENERALIZED_TIME => (pair(0)? * 100 + pair(2)?, 4),
        _ => return None,
    };
    let small = |at: usize| i8::try_from(pair(at)?).ok();
    let date = Date::new(year, small(at)?, small(at + 2)?).ok()?;
    let time = jiff::civil::Time::new(small(at + 4)?, small(at + 6)?, small(at + 8)?, 0).ok()?;
    let time = DateTime::from_parts(date, time).to_zoned(TimeZone::UTC);
    Some(time.ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    fn issued(start: i32, end: i32) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["a".repeat(300)]).unwrap();
        params.not_before = date_time_ymd(start, 2, 28);
        params.not_after = date_time_ymd(end, 12, 31);
        let certificate = params.self_signed(&KeyPair::generate().unwrap());
        certificate.unwrap().der().to_vec()
    }

    #[test]
    fn the_times_of_a_certificate_are_found() {
        for (start, end) in [(1975, 2049), (2026, 2050), (2051, 4096)] {
            let expected = Validity {
                start: format!("{start}-02-28T00:00:00Z").parse().unwrap(),
                end: format!("{end}-12-31T00:00:00Z").parse().unwrap(),
            };
            assert_eq!(Validity::of(&issued(start, end)), Some(expected));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(cut in 0_usize..400, at in 0_usize..400, byte: u8) {
            let mut der = issued(2026, 2027);
            if let Some(place) = der.get_mut(at) {
                *place = byte;
            }
            der.truncate(cut);
            let _ = Validity::of(&der);
        }
    }
}
