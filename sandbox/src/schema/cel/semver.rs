//! Semantic versions: `semver('1.2.3').isLessThan(semver('v1.3', true))`.

use std::cmp::Ordering;
use std::sync::Arc;

use cel::common::types::Type;
use cel::objects::Opaque;
use cel::{Env, ExecutionError, Value};

use super::functions::{
    Args, Declared, FunctionResult, declare, fail, no_overload, text, to_result, values,
};

pub(super) const TYPE: &str = "kubernetes.Semver";

/// A version of the form `major.minor.patch-prerelease+build`.
#[derive(Clone, Debug, Eq)]
struct Semver {
    numbers: [u64; 3],
    prerelease: Vec<Part>,
}

/// A part of a prerelease. Numbers come before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Text(String),
}

impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.order(other).is_eq()
    }
}

impl Opaque for Semver {
    fn runtime_type_name(&self) -> &str {
        TYPE
    }
}

impl Semver {
    /// # Errors
    /// The text of the server.
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts.as_slice() else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (*rest, None),
        };
        let (patch, prerelease) = match rest.split_once('-') {
            Some((patch, prerelease)) => (patch, Some(prerelease)),
            None => (rest, None),
        };
        let numbers = [
            number("Major number", major)?,
            number("Minor number", minor)?,
            number("Patch number", patch)?,
        ];
        let prerelease = prerelease.map_or(Ok(Vec::new()), |parts| {
            parts.split('.').map(Part::parse).collect()
        })?;
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".into());
            }
            if !part.chars().all(is_allowed) {
                return Err(format!(
                    "Invalid character(s) found in build meta data {part:?}"
                ));
            }
        }
        Ok(Self {
            numbers,
            prerelease,
        })
    }

    /// Parses a version that may have a `v` before it, lack its last numbers, and have zeros before its numbers.
    fn parse_loose(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        let last = parts.last().map_or("", String::as_str);
        if parts.len() < 3 && last.contains(['+', '-']) {
            return Err("short version cannot contain PreRelease/Build meta data".into());
        }
        parts.resize(3, "0".into());
        Self::parse(&parts.join("."))
    }

    fn order(&self, other: &Self) -> Ordering {
        let numbers = self.numbers.cmp(&other.numbers);
        numbers.then_with(
            || match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.prerelease.cmp(&other.prerelease),
            },
        )
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}

fn number(what: &str, text: &str) -> Result<u64, String> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        let what = what.to_lowercase();
        return Err(format!("Invalid character(s) found in {what} {text:?}"));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{what} must not contain leading zeroes {text:?}"));
    }
    text.parse().map_err(|_| match text {
        "" => "strconv.ParseUint: parsing \"\": invalid syntax".into(),
        _ => format!("strconv.ParseUint: parsing {text:?}: value out of range"),
    })
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    match rest.starts_with(|c: char| c.is_ascii_digit()) {
        true => rest.to_owned(),
        false => format!("0{rest}"),
    }
}

impl Part {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Prerelease is empty".into());
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            if text.len() > 1 && text.starts_with('0') {
                return Err(format!(
                    "Numeric PreRelease version must not contain leading zeroes {text:?}"
                ));
            }
            let number = text.parse().map(Self::Number);
            return number
                .map_err(|_| format!("strconv.ParseUint: parsing {text:?}: value out of range"));
        }
        match text.chars().all(is_allowed) {
            true => Ok(Self::Text(text.to_owned())),
            false => Err(format!("Invalid character(s) found in prerelease {text:?}")),
        }
    }
}

pub(super) fn register(env: &mut Env) {
    let function = |name, id, args, run| Declared {
        name,
        id,
        on: None,
        args,
        run,
    };
    let method = |name, id, args, run| Declared {
        name,
        id,
        on: Some(Type::new_opaque_type(TYPE)),
        args,
        run,
    };
    declare(
        env,
        vec![
            function("semver", "string_to_semver", 1, semver),
            function("semver", "string_bool_to_semver", 2, semver),
            function("isSemver", "is_semver_string", 1, is_semver),
            function("isSemver", "is_semver_string_bool", 2, is_semver),
            method("major", "semver_major", 0, |args| part("major", 0, args)),
            method("minor", "semver_minor", 0, |args| part("minor", 1, args)),
            method("patch", "semver_patch", 0, |args| part("patch", 2, args)),
            method("compareTo", "semver_compare_to", 1, compare_to),
            method("isGreaterThan", "semver_is_greater_than", 1, is_greater),
            method("isLessThan", "semver_is_less_than", 1, is_less),
        ],
    );
}

fn read(function: &str, args: Args<'_, '_>) -> Result<Result<Semver, String>, ExecutionError> {
    let values = values(args)?;
    let text = text(function, &values, 0)?;
    match values.get(1) {
        Some(Value::Bool(true)) => Ok(Semver::parse_loose(&text)),
        Some(Value::Bool(false)) | None => Ok(Semver::parse(&text)),
        Some(_) => Err(no_overload(function, &values)),
    }
}

fn semver<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let version = read("semver", args)?.map_err(|wrong| fail("semver", wrong))?;
    to_result("semver", Value::Opaque(Arc::new(version)))
}

fn is_semver<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    to_result("isSemver", read("isSemver", args)?.is_ok())
}

fn get(function: &str, values: &[Value], place: usize) -> Result<Semver, ExecutionError> {
    match values.get(place) {
        Some(Value::Opaque(opaque)) => opaque.downcast_ref::<Semver>().cloned(),
        _ => None,
    }
    .ok_or_else(|| no_overload(function, values))
}

fn part<'b, 'v>(function: &str, place: usize, args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let version = get(function, &values(args)?, 0)?;
    let number = version.numbers.get(place).copied().unwrap_or_default();
    to_result(function, i64::try_from(number).unwrap_or(i64::MAX))
}

fn order(function: &str, args: Args<'_, '_>) -> Result<Ordering, ExecutionError> {
    let values = values(args)?;
    Ok(get(function, &values, 0)?.order(&get(function, &values, 1)?))
}

fn compare_to<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    to_result("compareTo", order("compareTo", args)? as i64)
}

fn is_greater<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    to_result("isGreaterThan", order("isGreaterThan", args)?.is_gt())
}

fn is_less<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    to_result("isLessThan", order("isLessThan", args)?.is_lt())
}
