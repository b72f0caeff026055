use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue};

use super::estimate::Estimate;
use super::range::Range;
use super::{CHARACTER, FORMAT_PATTERN, LIST, PATTERN};
use crate::schema::cel::types::{self, Type};

/// The size of an address, in bytes.
const ADDRESS: Range = Range { min: 4, max: 16 };

impl<'a> Estimate<'a> {
    /// The cost of a call with its arguments, but without its receiver, and the size of its result.
    pub(super) fn call_cost(
        &mut self,
        expression: &'a IdedExpr,
        call: &'a CallExpr,
        overload: &str,
        costs: &[Range],
    ) -> (Range, Option<Range>) {
        let arguments = costs.iter().fold(Range::ZERO, |sum, cost| sum.plus(*cost));
        match overload {
            "logical_or" | "logical_and" => {
                let first = costs.first().copied().unwrap_or(Range::ZERO);
                let cost = Range {
                    min: first.min,
                    max: arguments.max,
                };
                return (cost, None);
            }
            "conditional" => return self.conditional(expression, call, costs),
            _ => {}
        }
        let found = self.of_extensions(call, overload);
        let found = found.or_else(|| self.of_library(call, overload));
        let (cost, size) = found.unwrap_or_else(|| self.of_standard(expression, call, overload));
        (cost.plus(arguments), size)
    }

    fn conditional(
        &mut self,
        expression: &'a IdedExpr,
        call: &'a CallExpr,
        costs: &[Range],
    ) -> (Range, Option<Range>) {
        let ([_, yes, no], [condition, first, second]) = (call.args.as_slice(), costs) else {
            return (Range::ZERO, None);
        };
        let size = self.size_or_unknown(yes).or(self.size_or_unknown(no));
        let entries = self.entries(yes).zip(self.entries(no));
        self.set_entries(expression, entries.map(|(a, b)| a.or(b)));
        (condition.plus(first.or(*second)), Some(size))
    }

    /// The lists and sets of cel-go.
    fn of_extensions(
        &mut self,
        call: &'a CallExpr,
        overload: &str,
    ) -> Option<(Range, Option<Range>)> {
        let list = |factor: f64, size: Range| {
            let cost = size.scaled(factor).plus(Range::of(1 + LIST));
            Some((cost, Some(size)))
        };
        let target = call.target.as_deref();
        match overload {
            "list_slice" => {
                let size = self.size_or_unknown(target?);
                let start = whole(call.args.first()?, 0);
                let end = whole(call.args.get(1)?, size.max);
                list(1.0, Range::of(end.wrapping_sub(start)))
            }
            "lists_range" => list(1.0, Range::of(whole(call.args.first()?, u64::MAX))),
            "list_reverse" => {
                let size = self.size_or_unknown(target?);
                list(1.0, size)
            }
            "list_flatten" | "list_flatten_int" => {
                let depth = call.args.first().map_or(1, |depth| whole(depth, u64::MAX));
                let size = self.size_or_unknown(target?);
                list(depth as f64, size)
            }
            "list_distinct" => {
                let size = self.size_or_unknown(target?);
                list(2.0, size.times(size))
            }
            sort if sort.starts_with("list_") && sort.contains("_sort") => {
                let sorted = match sort.ends_with("_sort") {
                    true => target?,
                    false => call.args.first()?,
                };
                let size = self.size_or_unknown(sorted);
                let is_text = sort.contains("_string_") || sort.contains("_bytes_");
                list(
                    if is_text { 2.0 + CHARACTER } else { 2.0 },
                    size.times(size),
                )
            }
            "list_sets_contains_list"
            | "list_sets_intersects_list"
            | "list_sets_equivalent_list" => {
                let [a, b] = call.args.as_slice() else {
                    return None;
                };
                let factor = if overload.contains("equivalent") {
                    2.0
                } else {
                    1.0
                };
                let size = self.size_or_unknown(a).times(self.size_or_unknown(b));
                Some((size.scaled(factor).plus(Range::of(1)), None))
            }
            _ => None,
        }
    }

    /// The functions whose costs the server sets.
    fn of_library(&mut self, call: &'a CallExpr, overload: &str) -> Option<(Range, Option<Range>)> {
        let target = call.target.as_deref();
        let first = call.args.first();
        let only = |cost: Range| Some((cost, None));
        match call.func_name.as_str() {
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                let target = target?;
                let size = self.size_or_unknown(target);
                let list = self.checked.type_of(target).parameters(types::LIST);
                let Some(item) = list.and_then(<[Type]>::first) else {
                    return only(size.scaled(CHARACTER));
                };
                let mut one = Range::of(1);
                if matches!(item, Type::String | Type::Bytes) {
                    one = one.plus(self.item_size(target).scaled(CHARACTER));
                }
                only(size.times(one))
            }
            "url" => {
                let size = self.size_or_unknown(first?);
                Some((size.scaled(CHARACTER), Some(size)))
            }
            "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                let size = self.size_or_unknown(target?);
                Some((size.scaled(CHARACTER), Some(size)))
            }
            "replace" => {
                let size = self.size_or_unknown(target?);
                let from = self.size_or_unknown(first?);
                let to = self.size_or_unknown(call.args.get(1)?);
                let result = replaced(size, from, to);
                Some((size.scaled(2.0 * CHARACTER), Some(result)))
            }
            "split" => {
                let size = self.size_or_unknown(target?);
                let most = match call.args.get(1).map(|most| &most.expr) {
                    Some(Expr::Literal(LiteralValue::Int(most))) => *most.inner() as u64,
                    _ => size.max,
                };
                Some((size.scaled(2.0 * CHARACTER), Some(Range::to(most))))
            }
            "join" => {
                let target = target?;
                let items = self.size_or_unknown(target);
                let mut size = items.times(self.item_size(target));
                if let Some(separator) = first {
                    let separators = Range {
                        min: items.min.saturating_sub(1),
                        max: items.max.saturating_sub(1),
                    };
                    size = size.plus(self.size_or_unknown(separator).times(separators));
                }
                Some((size.scaled(CHARACTER), Some(size)))
            }
            "find" | "findAll" => {
                let size = self.size_or_unknown(target?);
                let pattern = self.size_or_unknown(first?).scaled(PATTERN);
                let cost = size.plus(Range::of(1)).scaled(CHARACTER).times(pattern);
                Some((cost, Some(Range::to(size.max))))
            }
            "ip" if overload == "cidr_ip" => only(Range::of(1)),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver"
            | "isSemver" => {
                let size = self.size_or_unknown(first?);
                only(size.scaled(CHARACTER))
            }
            "ip.isCanonical" => {
                let size = self.size_or_unknown(first?);
                only(size.scaled(2.0 * CHARACTER))
            }
            "containsIP" | "containsCIDR" => {
                let mut cost = ADDRESS.plus(ADDRESS).scaled(CHARACTER);
                if call.func_name == "containsCIDR" {
                    cost = cost.plus(ADDRESS.scaled(CHARACTER)).plus(Range::of(1));
                }
                if overload.ends_with("_string") {
                    cost = cost.plus(self.size_or_unknown(first?).scaled(CHARACTER));
                }
                only(cost)
            }
            "validate" => {
                let size = self.size_or_unknown(first?);
                only(size.scaled(CHARACTER).scaled(FORMAT_PATTERN * PATTERN))
            }
            "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery" => only(Range::of(1)),
            "_==_" => {
                let [a, b] = call.args.as_slice() else {
                    return None;
                };
                match (self.checked.type_of(a), self.checked.type_of(b)) {
                    (Type::Library(left), Type::Library(right)) if left == right => {
                        only(match *left {
                            "kubernetes.NamedFormat" => Range { min: 1, max: 64 }.scaled(CHARACTER),
                            "kubernetes.URL" => {
                                let size = self.size(b).map_or(1, |size| size.max);
                                Range { min: 1, max: size }.scaled(CHARACTER)
                            }
                            _ => Range::of(1),
                        })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The standard functions.
    fn of_standard(
        &mut self,
        expression: &'a IdedExpr,
        call: &'a CallExpr,
        overload: &str,
    ) -> (Range, Option<Range>) {
        let target = call.target.as_deref();
        let mut size = |part: Option<&IdedExpr>| part.map(|part| self.size_or_unknown(part));
        let first = size(call.args.first()).unwrap_or(Range::UNKNOWN);
        let second = size(call.args.get(1)).unwrap_or(Range::UNKNOWN);
        let receiver = size(target).unwrap_or(Range::UNKNOWN);
        match overload {
            "string_format" => (receiver.scaled(CHARACTER), None),
            "string_to_bytes" => {
                let size = Range {
                    min: first.min,
                    max: first.max.wrapping_mul(4),
                };
                (first.scaled(CHARACTER), Some(size))
            }
            "bytes_to_string" => {
                let size = Range {
                    min: first.min / 4,
                    max: first.max,
                };
                (first.scaled(CHARACTER), Some(size))
            }
            "strings_quote" => {
                let size = Range {
                    min: first.min.wrapping_add(2),
                    max: first.max.wrapping_mul(2).wrapping_add(2),
                };
                (first.scaled(CHARACTER), Some(size))
            }
            "starts_with_string" | "ends_with_string" => (first.scaled(CHARACTER), None),
            "in_list" => (second.scaled(1.0), None),
            "matches_string" => {
                let text = receiver.plus(Range::of(1)).scaled(CHARACTER);
                (text.times(first.scaled(PATTERN)), None)
            }
            "contains_string" => (
                receiver.scaled(CHARACTER).times(first.scaled(CHARACTER)),
                None,
            ),
            "add_string" | "add_bytes" | "add_list" => {
                let sum = first.plus(second);
                if let [a, b] = call.args.as_slice() {
                    let entries = self.entries(a).zip(self.entries(b));
                    self.set_entries(expression, entries.map(|(a, b)| a.or(b)));
                }
                let cost = match overload {
                    "add_list" => Range::of(1),
                    _ => sum.scaled(CHARACTER),
                };
                (cost, Some(sum))
            }
            "equals" | "not_equals" => (compared(first, second), None),
            _ if is_text_order(overload) => (compared(first, second), None),
            _ => (Range::of(1), None),
        }
    }
}

fn compared(a: Range, b: Range) -> Range {
    let max = a.max.min(b.max);
    let range = Range {
        min: max.min(1),
        max,
    };
    range.scaled(CHARACTER)
}

/// Whether an overload compares texts or bytes.
pub(super) fn is_text_order(overload: &str) -> bool {
    let is_order = overload.starts_with("less_") || overload.starts_with("greater_");
    is_order && (overload.ends_with("_string") || overload.ends_with("_bytes"))
}

/// An integer that is written in the expression, at least 0.
fn whole(expression: &IdedExpr, otherwise: u64) -> u64 {
    match &expression.expr {
        Expr::Literal(LiteralValue::Int(n)) => u64::try_from(*n.inner()).unwrap_or(0),
        _ => otherwise,
    }
}

/// The size of a text in which parts were replaced.
fn replaced(size: Range, from: Range, to: Range) -> Range {
    let (mut count, mut kept) = (Range::ZERO, Range::ZERO);
    if from.min == 0 {
        count.max = size.max.saturating_add(1);
        kept.max = size.max;
    } else if to.max <= from.min {
        kept.max = size.max;
    } else {
        count.max = parts(size.max, from.min);
    }
    if from.max == 0 {
        count.min = size.min.saturating_add(1);
        kept.min = size.min;
    } else if from.max <= to.min {
        kept.min = size.min;
    } else {
        count.min = parts(size.min, from.max);
    }
    count.times(to).plus(kept)
}

fn parts(size: u64, of: u64) -> u64 {
    (size as f64 / of as f64).ceil() as u64
}
