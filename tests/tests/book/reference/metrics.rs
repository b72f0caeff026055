//! The metrics: name, type, labels and help, as the files of `framework/src/metrics` declare them.

use std::{collections::BTreeMap, fs};

use syn::{
    Attribute, Expr, ExprCall, ExprClosure, Item, Lit, Local, Pat,
    visit::{self, Visit},
};

use super::{compare, row};
use crate::book::top;

#[derive(Debug, PartialEq)]
struct Metric {
    kind: &'static str,
    labels: Vec<String>,
    help: String,
}

/// The declarations of a file.
#[derive(Default)]
struct Declarations {
    /// Lists of labels with a name.
    lists: BTreeMap<String, Vec<String>>,
    /// Functions that are only names for another call: its type, and its labels if they do not differ.
    closures: BTreeMap<String, (&'static str, Option<Vec<String>>)>,
    metrics: BTreeMap<String, Metric>,
}

fn text(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The type of a metric, by the name of the function that makes it.
fn kind(function: &str) -> Option<&'static str> {
    match function {
        "counter" => Some("counter"),
        "gauge" | "int_gauge" | "new_gauge" => Some("gauge"),
        "histogram" | "striped_histogram" => Some("histogram"),
        _ => None,
    }
}

impl Declarations {
    /// A list of labels: written here, or by its name.
    fn labels(&self, expression: &Expr) -> Option<Vec<String>> {
        match expression {
            Expr::Reference(reference) => self.labels(&reference.expr),
            Expr::Array(array) => array.elems.iter().map(text).collect(),
            Expr::Path(path) => self.lists.get(&path.path.get_ident()?.to_string()).cloned(),
            _ => None,
        }
    }

    /// The type and the labels of a call that makes a metric.
    fn called(&self, call: &ExprCall) -> Option<(&'static str, Option<Vec<String>>)> {
        let Expr::Path(path) = &*call.func else {
            return None;
        };
        let segments: Vec<String> = path
            .path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        let names: Vec<&str> = segments.iter().map(String::as_str).collect();
        let labels = || call.args.iter().find_map(|argument| self.labels(argument));
        match &names[..] {
            [name] if self.closures.contains_key(*name) => {
                let (kind, fixed) = &self.closures[*name];
                Some((kind, labels().or_else(|| fixed.clone())))
            }
            ["Opts", "new"] => Some(("gauge", None)),
            ["HistogramOpts", "new"] => Some(("histogram", None)),
            [.., name] => Some((kind(name)?, labels())),
            [] => None,
        }
    }
}

fn name(pattern: &Pat) -> Option<String> {
    match pattern {
        Pat::Ident(ident) => Some(ident.ident.to_string()),
        Pat::Type(typed) => name(&typed.pat),
        _ => None,
    }
}

/// The first call of a metric inside of a closure.
struct Inner<'a> {
    declarations: &'a Declarations,
    found: Option<(&'static str, Option<Vec<String>>)>,
}

impl<'ast> Visit<'ast> for Inner<'_> {
    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if self.found.is_none() {
            self.found = self.declarations.called(call);
        }
        visit::visit_expr_call(self, call);
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let text = |one: &Attribute| quote::ToTokens::to_token_stream(one).to_string();
    attributes
        .iter()
        .any(|one| text(one).contains("cfg (test)"))
}

impl<'ast> Visit<'ast> for Declarations {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(module) if is_test(&module.attrs) => return,
            Item::Const(item) => {
                if let Some(labels) = self.labels(&item.expr) {
                    self.lists.insert(item.ident.to_string(), labels);
                }
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        let value = local.init.as_ref().map(|init| &*init.expr);
        if let (Some(name), Some(value)) = (name(&local.pat), value) {
            if let Some(labels) = self.labels(value) {
                self.lists.insert(name, labels);
            } else if let Expr::Closure(ExprClosure { body, .. }) = value {
                let mut inner = Inner {
                    declarations: self,
                    found: None,
                };
                inner.visit_expr(body);
                if let Some(found) = inner.found {
                    self.closures.insert(name, found);
                }
            }
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        let texts: Vec<Option<String>> = call.args.iter().map(text).collect();
        let pair = texts.windows(2).find_map(|pair| match pair {
            [Some(name), Some(help)] if !name.contains(' ') => Some((name, help)),
            _ => None,
        });
        if let (Some((name, help)), Some((kind, labels))) = (pair, self.called(call)) {
            let metric = Metric {
                kind,
                labels: labels.unwrap_or_default(),
                help: help.clone(),
            };
            self.metrics.insert(name.clone(), metric);
        }
        visit::visit_expr_call(self, call);
    }
}

fn metrics() -> BTreeMap<String, Metric> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(top().join("framework/src/metrics")).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        let file = syn::parse_file(&source).unwrap();
        let mut declarations = Declarations::default();
        declarations.visit_file(&file);
        found.extend(declarations.metrics);
    }
    found
}

#[test]
fn the_reference_has_each_metric() {
    let metrics = metrics();
    let mut table = row(&["name", "type", "labels", "help"]) + &row(&["---"; 4]);
    for (name, metric) in &metrics {
        let labels = metric.labels.iter().map(|label| format!("`{label}`"));
        let labels = labels.collect::<Vec<_>>().join(", ");
        table += &row(&[&format!("`{name}`"), metric.kind, &labels, &metric.help]);
    }
    compare("metrics.md", &[("metrics", table)]);
}

#[test]
fn a_metric_gets_its_type_and_its_labels_from_a_call_or_a_closure() {
    let source = r#"
        const RESOURCE: &[&str] = &["resource"];
        fn register() {
            let of = |name, help| families::counter(registry, name, help, RESOURCE);
            let times = |name, help, labels| families::histogram(registry, name, help, labels, b());
            of("a_total", "A.");
            times("b_seconds", "B.", &["verb", "host"]);
            families::int_gauge(registry, "c", "C.", &[]);
            Gauge::with_opts(Opts::new("d", "D."));
        }
        #[cfg(test)]
        mod tests {
            fn test() { families::counter(registry, "e_total", "E.", &[]); }
        }
    "#;
    let mut found = Declarations::default();
    found.visit_file(&syn::parse_file(source).unwrap());
    let seen: Vec<_> = found
        .metrics
        .iter()
        .map(|(name, one)| (name.as_str(), one.kind, one.labels.join(",")))
        .collect();
    let expected = [
        ("a_total", "counter", "resource"),
        ("b_seconds", "histogram", "verb,host"),
        ("c", "gauge", ""),
        ("d", "gauge", ""),
    ];
    let expected = expected.map(|(name, kind, labels)| (name, kind, labels.to_owned()));
    assert_eq!(seen, expected);
}
