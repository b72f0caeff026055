//! Insertions into the sources of the user.

use std::ops::Range;

use proc_macro2::Span;
use syn::{Attribute, Expr, File, Item, Stmt, UseTree, Visibility, spanned::Spanned};

use super::version::ResourceAttribute;
use crate::names::{ApiVersion, Kind};

/// A source with the kind added.
#[derive(Debug, PartialEq)]
pub(super) struct Edited {
    pub(super) text: String,
    /// What could not be added.
    pub(super) missing: Vec<Place>,
}

/// A place that the source does not have, and the line to write by hand.
#[derive(Debug, PartialEq)]
pub(super) struct Place {
    pub(super) what: &'static str,
    pub(super) line: String,
}

/// What is added to the operator.
pub(super) struct Addition {
    module: String,
    /// The types of the module that are exported.
    types: Vec<String>,
    /// The calls that the operator gets: each method with its argument.
    calls: Vec<(&'static str, String)>,
    /// The methods behind which the calls stand.
    behind: &'static [&'static str],
}

impl Addition {
    pub(super) fn kind(kind: &Kind) -> Self {
        let name = kind.as_str();
        let reconciler = format!("{name}Reconciler");
        let others = ["Spec", "Status"].map(|suffix| format!("{name}{suffix}"));
        Self {
            module: kind.module(),
            types: [vec![name.to_owned(), reconciler.clone()], others.into()].concat(),
            calls: vec![("controller", reconciler)],
            behind: &["controller"],
        }
    }

    pub(super) fn webhooks(kind: &Kind) -> Self {
        let [defaults, rules] =
            ["Defaults", "Rules"].map(|suffix| format!("{}{suffix}", kind.as_str()));
        Self {
            module: format!("{}_webhook", kind.module()),
            types: vec![defaults.clone(), rules.clone()],
            calls: vec![("mutates", defaults), ("validates", rules)],
            behind: &["controller", "mutates", "validates"],
        }
    }
}

/// The byte order mark of a source, which syn does not count, and the text behind it.
pub(super) fn behind_mark(text: &str) -> (&'static str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

/// The byte order mark of a source, and the text behind it, whose last line has an end.
fn whole_lines(text: &str) -> (&'static str, String) {
    let (mark, text) = behind_mark(text);
    let end = match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => "\n",
    };
    (mark, format!("{text}{end}"))
}

/// Whether a source has this module as a public one.
pub(super) fn is_public(text: &str, module: &str) -> bool {
    syn::parse_file(text).is_ok_and(|file| {
        file.items.iter().any(|item| {
            matches!(item, Item::Mod(one) if one.ident == module && matches!(one.vis, syn::Visibility::Public(_)))
        })
    })
}

/// Declares a module, exports its types, and adds calls to the function `operator`. What is there already is not added again.
pub(super) fn add(text: &str, addition: &Addition) -> syn::Result<Edited> {
    let (mark, text) = whole_lines(text);
    let text = &*text;
    let file = syn::parse_file(text)?;
    let module = &*addition.module;
    let mut insertions: Vec<(usize, String)> = Vec::new();
    let mut missing = Vec::new();

    insertions.extend(declaration(&file, text, "mod", &[module]));
    let export = format!("pub use {module}::{{{}}};", addition.types.join(", "));
    if !exports(&file, module) {
        let is_export = |item: &Item| matches!(item, Item::Use(one) if !matches!(one.vis, syn::Visibility::Inherited));
        let is_use = |item: &Item| matches!(item, Item::Use(_));
        insertions.push(match last(&file, is_export) {
            Some(after) => (line_end(text, after.end), format!("\n{export}")),
            None => match last(&file, is_use)
                .or_else(|| last(&file, |item| matches!(item, Item::Mod(_))))
            {
                Some(after) => (line_end(text, after.end), format!("\n\n{export}")),
                None => (first_item(&file, text), format!("{export}\n\n")),
            },
        });
    }
    let chain = chain(&file, addition.behind);
    for (method, argument) in &addition.calls {
        let call = format!(".{method}({argument})");
        match &chain {
            Some(chain) if chain.has(method, argument) => {}
            Some(chain) => {
                let before = indentation(text, chain.after);
                let at = line_end(text, chain.after);
                insertions.push((at, format!("\n{before}{call}")));
            }
            None => missing.push(Place {
                what: "The function `operator` with `Operator::new(…)`",
                line: call,
            }),
        }
    }

    let text = mark.to_owned() + &inserted(text, insertions);
    Ok(Edited { text, missing })
}

/// Declares public modules. Those that are there already are not declared again.
pub(super) fn declare(text: &str, modules: &[&str]) -> syn::Result<Edited> {
    let (mark, text) = whole_lines(text);
    let text = &*text;
    let file = syn::parse_file(text)?;
    let insertions = declaration(&file, text, "pub mod", modules);
    let text = mark.to_owned() + &inserted(text, insertions.into_iter().collect());
    let missing = Vec::new();
    Ok(Edited { text, missing })
}

/// The declarations of these modules, without those that the file has, and their place.
fn declaration(file: &File, text: &str, word: &str, modules: &[&str]) -> Option<(usize, String)> {
    let is_there = |module: &&&str| {
        let mut items = file.items.iter();
        items.any(|item| matches!(item, Item::Mod(one) if one.ident == **module))
    };
    let lines: Vec<String> = modules
        .iter()
        .filter(|module| !is_there(module))
        .map(|module| format!("{word} {module};"))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let lines = lines.join("\n");
    let last = last(
        file,
        |item| matches!(item, Item::Mod(one) if one.content.is_none()),
    );
    Some(match last {
        Some(after) => (line_end(text, after.end), format!("\n{lines}")),
        None => (first_item(file, text), format!("{lines}\n\n")),
    })
}

fn inserted(text: &str, insertions: Vec<(usize, String)>) -> String {
    // From the end, so that the earlier places stay; of one place the later insertion stands behind.
    let mut ordered: Vec<_> = insertions.into_iter().enumerate().collect();
    ordered.sort_by_key(|(number, (at, _))| std::cmp::Reverse((*at, *number)));
    let mut text = text.to_owned();
    for (_, (at, insertion)) in ordered {
        text.insert_str(at, &insertion);
    }
    text
}

/// Whether a source has a struct of this name at its top, or imports or exports one.
pub(super) fn names(text: &str, name: &str) -> bool {
    fn has(tree: &UseTree, name: &str) -> bool {
        match tree {
            UseTree::Path(path) => has(&path.tree, name),
            UseTree::Name(one) => one.ident == name,
            UseTree::Rename(one) => one.rename == name,
            UseTree::Group(group) => group.items.iter().any(|tree| has(tree, name)),
            UseTree::Glob(_) => false,
        }
    }
    let (_, text) = behind_mark(text);
    syn::parse_file(text).is_ok_and(|file| {
        file.items.iter().any(|item| match item {
            Item::Struct(one) => one.ident == name,
            Item::Use(one) => !matches!(one.vis, Visibility::Inherited) && has(&one.tree, name),
            _ => false,
        })
    })
}

/// Group and version of the first kind of a source that the operator defines itself.
pub(super) fn declared(text: &str) -> Option<ApiVersion> {
    let (_, text) = behind_mark(text);
    let file = syn::parse_file(text).ok()?;
    file.items.iter().find_map(|item| match item {
        Item::Struct(one) => api_version(&one.attrs),
        _ => None,
    })
}

fn api_version(attributes: &[Attribute]) -> Option<ApiVersion> {
    let attribute = ResourceAttribute::of(attributes)?;
    if attribute.is_of_another() {
        return None;
    }
    let [group, version] = ["group", "version"].map(|name| attribute.text(name));
    ApiVersion::new(&format!("{}/{}", group?, version?)).ok()
}

fn range(span: Span) -> Range<usize> {
    span.byte_range()
}

/// The last item of a sort.
fn last(file: &File, is: impl Fn(&Item) -> bool) -> Option<Range<usize>> {
    let found = file.items.iter().rfind(|item| is(item));
    found.map(|item| range(item.span()))
}

/// Where the first item begins, with its documentation.
fn first_item(file: &File, text: &str) -> usize {
    file.items
        .first()
        .map_or(text.len(), |item| range(item.span()).start)
}

/// Whether something of this module is exported.
fn exports(file: &File, module: &str) -> bool {
    file.items.iter().any(|item| match item {
        Item::Use(one) => match &one.tree {
            syn::UseTree::Path(path) => path.ident == module,
            _ => false,
        },
        _ => false,
    })
}

/// The chain of calls `Operator::new(…).controller(…)…` at the end of the function `operator`.
struct Chain<'a> {
    calls: Vec<&'a syn::ExprMethodCall>,
    /// Behind the last call of a certain sort, or behind `Operator::new(…)`.
    after: usize,
}

impl Chain<'_> {
    fn has(&self, method: &str, name: &str) -> bool {
        self.calls.iter().any(|call| {
            call.method == method
                && call.args.iter().any(|argument| match argument {
                    Expr::Path(path) => path
                        .path
                        .segments
                        .last()
                        .is_some_and(|last| last.ident == name),
                    _ => false,
                })
        })
    }
}

fn chain<'a>(file: &'a File, behind: &[&str]) -> Option<Chain<'a>> {
    let function = file.items.iter().find_map(|item| match item {
        Item::Fn(one) if one.sig.ident == "operator" => Some(one),
        _ => None,
    })?;
    let Some(Stmt::Expr(last, None)) = function.block.stmts.last() else {
        return None;
    };
    let mut inner = last;
    let mut calls = Vec::new();
    while let Expr::MethodCall(call) = inner {
        calls.push(call);
        inner = &call.receiver;
    }
    let Expr::Call(new) = inner else {
        return None;
    };
    let Expr::Path(function) = &*new.func else {
        return None;
    };
    let segments: Vec<String> = function
        .path
        .segments
        .iter()
        .map(|one| one.ident.to_string())
        .collect();
    if !segments.ends_with(&["Operator".into(), "new".into()]) {
        return None;
    }
    let is_of_sort = |call: &&&syn::ExprMethodCall| behind.iter().any(|name| call.method == name);
    let last = calls.iter().find(is_of_sort);
    let after = last.map_or_else(|| range(new.span()).end, |call| range(call.span()).end);
    Some(Chain { calls, after })
}

/// The end of the line, if only a comment follows in it: the comment stays with what it is about.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = text[at..].split('\n').next().unwrap_or_default().trim_end();
    match rest.trim_start().starts_with("//") {
        true => at + rest.len(),
        false => at,
    }
}

/// The indentation for one more call behind this place: that of the line, if the line is itself a call of the chain.
fn indentation(text: &str, at: usize) -> String {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    let content = line.trim_start();
    let spaces = &line[..line.len() - content.len()];
    match content.starts_with('.') {
        true => spaces.into(),
        false => format!("{spaces}    "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind() -> Addition {
        Addition::kind(&Kind::new("CronTask").unwrap())
    }

    fn webhooks() -> Addition {
        Addition::webhooks(&Kind::new("CronTask").unwrap())
    }

    fn added_to(text: &str, addition: &Addition) -> String {
        let edited = add(text, addition).unwrap();
        assert_eq!(edited.missing, []);
        // A second time changes nothing.
        assert_eq!(add(&edited.text, addition).unwrap(), edited);
        edited.text
    }

    fn added(text: &str) -> String {
        added_to(text, &kind())
    }

    #[test]
    fn the_webhooks_of_a_kind_are_added_behind_its_controller() {
        let text = "mod cron_task;\n\nuse pilothouse::prelude::*;\n\npub use cron_task::CronTask;\n\npub fn operator() -> Operator {\n    Operator::new(\"tasks\").controller(CronTaskReconciler).version(\"1\")\n}\n";
        let expected = "mod cron_task;\nmod cron_task_webhook;\n\nuse pilothouse::prelude::*;\n\npub use cron_task::CronTask;\npub use cron_task_webhook::{CronTaskDefaults, CronTaskRules};\n\npub fn operator() -> Operator {\n    Operator::new(\"tasks\").controller(CronTaskReconciler)\n        .mutates(CronTaskDefaults)\n        .validates(CronTaskRules).version(\"1\")\n}\n";
        assert_eq!(added_to(text, &webhooks()), expected);
    }

    #[test]
    fn a_webhook_that_the_user_has_moved_or_removed_from_the_chain_is_not_added_twice() {
        let text = "mod cron_task_webhook;\n\npub use cron_task_webhook::CronTaskRules;\n\npub fn operator() -> Operator {\n    Operator::new(\"tasks\")\n        .validates(cron_task_webhook::CronTaskRules)\n        .version(\"1\")\n}\n";
        let expected = text.replace(
            ".validates(cron_task_webhook::CronTaskRules)\n",
            ".validates(cron_task_webhook::CronTaskRules)\n        .mutates(CronTaskDefaults)\n",
        );
        // The user's own list of exports stays.
        assert_eq!(added_to(text, &webhooks()), expected);
    }

    #[test]
    fn a_kind_is_added_behind_the_others() {
        let text = "//! Mine.\n\nmod website; // the site\n\nuse pilothouse::prelude::*;\n\npub use website::Website;\n\n/// All.\npub fn operator() -> Operator {\n    let name = \"größe\";\n    Operator::new(name)\n        .controller(WebsiteReconciler)\n        .version(\"1\")\n}\n";
        let expected = "//! Mine.\n\nmod website; // the site\nmod cron_task;\n\nuse pilothouse::prelude::*;\n\npub use website::Website;\npub use cron_task::{CronTask, CronTaskReconciler, CronTaskSpec, CronTaskStatus};\n\n/// All.\npub fn operator() -> Operator {\n    let name = \"größe\";\n    Operator::new(name)\n        .controller(WebsiteReconciler)\n        .controller(CronTaskReconciler)\n        .version(\"1\")\n}\n";
        assert_eq!(added(text), expected);
    }

    #[test]
    fn comments_and_the_byte_order_mark_stay_where_they_are() {
        let text = "\u{feff}mod website;\npub use website::Website;\n\npub fn operator() -> Operator {\n    Operator::new(\"größe\") // keep\n}";
        let expected = "\u{feff}mod website;\nmod cron_task;\npub use website::Website;\npub use cron_task::{CronTask, CronTaskReconciler, CronTaskSpec, CronTaskStatus};\n\npub fn operator() -> Operator {\n    Operator::new(\"größe\") // keep\n        .controller(CronTaskReconciler)\n}\n";
        assert_eq!(added(text), expected);
        let edited = add("//! Mine.", &kind()).unwrap();
        assert!(edited.text.starts_with("//! Mine.\nmod cron_task;"));
    }

    #[test]
    fn an_operator_without_a_kind_gets_its_first() {
        let text = "use pilothouse::prelude::*;\n\npub fn operator() -> Operator {\n    Operator::new(\"tasks\")\n}\n";
        let expected = "mod cron_task;\n\nuse pilothouse::prelude::*;\n\npub use cron_task::{CronTask, CronTaskReconciler, CronTaskSpec, CronTaskStatus};\n\npub fn operator() -> Operator {\n    Operator::new(\"tasks\")\n        .controller(CronTaskReconciler)\n}\n";
        assert_eq!(added(text), expected);
    }

    #[test]
    fn public_modules_are_declared_once() {
        let text = "\u{feff}//! Mine.\n\nmod website; // the site\n\nuse a::b;\n";
        let declared = declare(text, &["website", "issuer", "order"]).unwrap();
        let expected = "\u{feff}//! Mine.\n\nmod website; // the site\npub mod issuer;\npub mod order;\n\nuse a::b;\n";
        assert_eq!(declared.text, expected);
        assert_eq!(declare(expected, &["issuer"]).unwrap().text, expected);
        let without_end = declare("//! Mine.", &["issuer"]).unwrap().text;
        assert_eq!(without_end, "//! Mine.\npub mod issuer;\n\n");
        assert_eq!(
            declare("", &["issuer"]).unwrap().text,
            "pub mod issuer;\n\n"
        );
    }

    #[test]
    fn without_the_function_the_line_is_told() {
        for text in [
            "",
            "fn operator() -> Operator { build() }",
            "fn operator() { let a = Operator::new(\"a\"); }",
        ] {
            let edited = add(text, &kind()).unwrap();
            assert_eq!(edited.missing[0].line, ".controller(CronTaskReconciler)");
            let edited = add(text, &webhooks()).unwrap();
            let lines = edited.missing.iter().map(|place| &*place.line);
            let expected = [".mutates(CronTaskDefaults)", ".validates(CronTaskRules)"];
            assert_eq!(lines.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn the_group_is_that_of_the_first_kind() {
        let text = "#[derive(Resource)]\n#[resource(group = \"a.dev\", version = \"v1beta1\", namespaced, names(plural = \"x\"))]\nstruct A;";
        let expected = ApiVersion::new("a.dev/v1beta1").unwrap();
        assert_eq!(declared(text), Some(expected));
        assert_eq!(declared("struct B;"), None);
        // The group of a foreign kind is not the user's.
        for of_another in ["foreign", "view_of = \"B\""] {
            let imported = format!("kind = \"B\", scale(spec = \".a\"), {of_another},");
            let imported = text.replace("namespaced,", &imported);
            assert_eq!(declared(&imported), None, "{of_another}");
            let both = format!("{imported}\n{}", text.replace("a.dev", "own.dev"));
            assert_eq!(declared(&both).unwrap().group, "own.dev");
        }
    }
}
