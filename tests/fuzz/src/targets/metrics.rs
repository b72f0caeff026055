//! Checks that a reader of the text format finds the names, help texts and labels that were written.

use std::collections::BTreeMap;

use pilothouse::metrics::{
    Metrics,
    prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts},
};

use crate::input;

/// A counter beside the metric that the input describes.
const CALLS: &str = "fuzz_controller_calls_total";

pub(crate) fn run(data: &[u8]) {
    let (form, rest) = input::choice(data);
    let (bytes, rest) = rest.split_at(rest.len().min(8));
    let mut number = [0; 8];
    number
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    let number = f64::from_le_bytes(number);
    let texts: [_; 5] = input::parts(rest);
    let Ok(texts) = texts
        .into_iter()
        .map(str::from_utf8)
        .collect::<Result<Vec<_>, _>>()
    else {
        return;
    };
    let [name, help, label, value, controller] = texts[..] else {
        return;
    };
    let metrics = Metrics::new();
    let registry = metrics.registry();
    // The crate refuses this label of a histogram only with a panic at the first observed value.
    if label == "le" {
        return;
    }
    let labels = [label, "other"];
    if form % 2 == 0 {
        let Ok(gauge) = GaugeVec::new(Opts::new(name, help), &labels) else {
            return;
        };
        if registry.register(Box::new(gauge.clone())).is_err() {
            return;
        }
        gauge.with_label_values(&[value, "x"]).set(number);
    } else {
        let options = HistogramOpts::new(name, help).buckets(vec![1e-8, 1.0, 1e9]);
        let Ok(histogram) = HistogramVec::new(options, &labels) else {
            return;
        };
        if registry.register(Box::new(histogram.clone())).is_err() {
            return;
        }
        histogram.with_label_values(&[value, "x"]).observe(number);
    }
    let options = Opts::new(CALLS, "Calls of a controller.");
    let calls = IntCounterVec::new(options, &["controller"]).unwrap();
    if registry.register(Box::new(calls.clone())).is_err() {
        return;
    }
    calls.with_label_values(&[controller]).inc();
    let text = metrics.encode();
    let read = Exposition::read(&text).unwrap_or_else(|line| panic!("{line:?} in\n{text}"));
    assert_eq!(read.helps.get(name).map(String::as_str), Some(help));
    let wanted = |sample: &&Sample| {
        let has = |key: &str, value: &str| sample.labels.get(key).is_some_and(|it| it == value);
        has(label, value) && has("other", "x")
    };
    if form % 2 == 0 {
        let found = read
            .samples
            .iter()
            .filter(wanted)
            .find(|it| it.name == name);
        let found = found
            .unwrap_or_else(|| panic!("the gauge is not in\n{text}"))
            .value;
        assert!(
            found == number || found.is_nan() && number.is_nan(),
            "{found} {number}"
        );
    } else {
        let bucket = format!("{name}_bucket");
        let buckets = read
            .samples
            .iter()
            .filter(wanted)
            .filter(|it| it.name == bucket);
        let bounds: Vec<_> = buckets.filter_map(|it| it.labels.get("le")).collect();
        assert_eq!(bounds, ["1e-08", "1", "1e+09", "+Inf"]);
    }
    let series = read.samples.iter().filter(|it| it.name == CALLS);
    let mut of_controller = series.filter(|it| {
        it.labels
            .get("controller")
            .is_some_and(|it| it == controller)
    });
    assert_eq!(of_controller.next().map(|it| it.value), Some(1.0));
}

/// A reader of Prometheus' text format 0.0.4, written from its specification.
#[derive(Default)]
struct Exposition {
    helps: BTreeMap<String, String>,
    samples: Vec<Sample>,
}

struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Exposition {
    /// Reads a text. The error is the invalid line.
    fn read(text: &str) -> Result<Self, String> {
        let mut read = Self::default();
        let Some(text) = text.strip_suffix('\n') else {
            return Err("the last line does not end".to_owned());
        };
        for line in text.split('\n') {
            let wrong = || line.to_owned();
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').unwrap_or((help, ""));
                let help = unescape(help, false).ok_or_else(wrong)?;
                read.helps.insert(name.to_owned(), help);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (_, kind) = kind.split_once(' ').ok_or_else(wrong)?;
                if !["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind) {
                    return Err(wrong());
                }
            } else {
                read.samples.push(Sample::read(line).ok_or_else(wrong)?);
            }
        }
        Ok(read)
    }
}

impl Sample {
    fn read(line: &str) -> Option<Self> {
        let end = line.find(['{', ' '])?;
        let (name, mut rest) = line.split_at(end);
        let mut labels = BTreeMap::new();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            while !rest.starts_with('}') {
                let (key, after) = rest.split_once("=\"")?;
                let is_escaped = |at: usize| {
                    after[..at]
                        .bytes()
                        .rev()
                        .take_while(|b| *b == b'\\')
                        .count()
                        % 2
                        == 1
                };
                let (end, _) = after.match_indices('"').find(|(at, _)| !is_escaped(*at))?;
                let is_twice = labels.insert(key.to_owned(), unescape(&after[..end], true)?);
                if !is_name(key) || is_twice.is_some() {
                    return None;
                }
                rest = &after[end + 1..];
                rest = rest.strip_prefix(',').unwrap_or(rest);
            }
            rest = &rest[1..];
        }
        let value = match rest.strip_prefix(' ')? {
            "+Inf" => f64::INFINITY,
            "-Inf" => f64::NEG_INFINITY,
            "NaN" => f64::NAN,
            // Rust accepts more words as numbers than Go does.
            number if number.bytes().all(|b| b"0123456789+-.eE".contains(&b)) => {
                number.parse().ok()?
            }
            _ => return None,
        };
        (is_name(&name.replace(':', "_"))).then(|| Self {
            name: name.to_owned(),
            labels,
            value,
        })
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.bytes().all(is_letter) && text.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}

fn unescape(text: &str, has_quotes: bool) -> Option<String> {
    let mut all = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                '\\' => all.push('\\'),
                'n' => all.push('\n'),
                '"' if has_quotes => all.push('"'),
                _ => return None,
            },
            letter => all.push(letter),
        }
    }
    Some(all)
}
