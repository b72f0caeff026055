use std::collections::{BTreeMap, BTreeSet};

use super::{CRATE, FACADES, ModulePath, Order, Violation};

/// A path somewhere in the sources, as it is written.
#[derive(Clone)]
pub(super) struct Used {
    pub(super) file: String,
    pub(super) module: ModulePath,
    pub(super) segments: Vec<String>,
    pub(super) glob: bool,
    /// It stands in an item with `#[cfg(test)]`.
    pub(super) is_test: bool,
}

impl Used {
    pub(super) fn text(&self) -> String {
        let glob = if self.glob { "::*" } else { "" };
        format!("{}{glob}", self.segments.join("::"))
    }
}

/// The crate's modules with the names that `use` brings into each.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) modules: BTreeMap<ModulePath, Scope>,
    /// The modules that are declared with `#[cfg(test)]`.
    pub(super) tests: BTreeSet<ModulePath>,
    /// [`Order::within`] of every order.
    pub(super) ordered: BTreeSet<String>,
}

#[derive(Default)]
pub(super) struct Scope {
    /// Imported name → what was imported under it; private imports count, a child sees them.
    pub(super) names: BTreeMap<String, Vec<Used>>,
    pub(super) globs: Vec<Used>,
}

impl Tree {
    pub(super) fn declare(&mut self, module: &[String]) -> &mut Scope {
        self.modules.entry(module.to_vec()).or_default()
    }

    pub(super) fn is_test(&self, used: &Used) -> bool {
        used.is_test || self.is_test_module(&used.module)
    }

    fn is_test_module(&self, module: &[String]) -> bool {
        (1..=module.len()).any(|length| self.tests.contains(&module[..length]))
    }

    /// Submodules that the order does not name, and names in the order that are no submodule.
    pub(super) fn misplaced(&self, order: &Order<'_>) -> Vec<Violation> {
        let violation = |submodule: &str, what: &str| Violation {
            file: order.text(submodule).replace("::", "/"),
            what: what.into(),
            target: order.text(submodule),
        };
        let mut present = BTreeSet::new();
        for module in self.modules.keys() {
            if let Some(submodule) = order.submodule_of(module)
                && !(order.exempts_tests() && self.is_test_module(module))
                && !(order.within.is_empty() && FACADES.contains(&submodule))
            {
                present.insert(submodule);
            }
        }
        let unplaced = present
            .iter()
            .filter(|submodule| order.row(submodule).is_none())
            .map(|submodule| violation(submodule, "a module without a place in the order"));
        // A layer may be planned.
        let absent = order
            .submodules
            .iter()
            .filter(|submodule| !order.within.is_empty() && !present.contains(*submodule))
            .map(|submodule| violation(submodule, "a name in the order that is no module"));
        unplaced.chain(absent).collect()
    }

    /// All modules that are touched on the way to what the path means.
    pub(super) fn modules_of(&self, used: &Used) -> BTreeSet<ModulePath> {
        let mut touched = BTreeSet::new();
        let ends = self.walk(&used.module, &used.segments, &mut touched, &mut Vec::new());
        if used.glob {
            for end in ends {
                self.modules_below(&end, &mut touched, &mut BTreeSet::new());
            }
        }
        touched
    }

    /// Adds what a glob of `module` may bring. A module inside an order brings itself. A facade, the root, and a module with
    /// an order of its own bring all that they re-export.
    fn modules_below(
        &self,
        module: &ModulePath,
        touched: &mut BTreeSet<ModulePath>,
        seen: &mut BTreeSet<ModulePath>,
    ) {
        let is_ordered = self.ordered.contains(&module.join("::"));
        let is_facade = module
            .first()
            .is_some_and(|first| FACADES.contains(&first.as_str()));
        if !(is_ordered || is_facade) || !seen.insert(module.clone()) {
            return;
        }
        if is_ordered {
            touched.extend(
                self.modules
                    .keys()
                    .filter(|path| path.len() == module.len() + 1 && path.starts_with(module))
                    .cloned(),
            );
        }
        let Some(scope) = self.modules.get(module) else {
            return;
        };
        for used in scope.names.values().flatten().chain(&scope.globs) {
            for end in self.walk(&used.module, &used.segments, touched, &mut Vec::new()) {
                self.modules_below(&end, touched, seen);
            }
        }
    }

    /// Follows `segments` from `module`; collects the modules entered, returns the modules reached.
    fn walk(
        &self,
        module: &ModulePath,
        segments: &[String],
        touched: &mut BTreeSet<ModulePath>,
        visited: &mut Vec<(ModulePath, Vec<String>)>,
    ) -> Vec<ModulePath> {
        let step = (module.clone(), segments.to_vec());
        if visited.contains(&step) {
            return Vec::new();
        }
        visited.push(step);
        let ends = self.step(module, segments, touched, visited);
        visited.pop();
        ends
    }

    fn step(
        &self,
        module: &ModulePath,
        segments: &[String],
        touched: &mut BTreeSet<ModulePath>,
        visited: &mut Vec<(ModulePath, Vec<String>)>,
    ) -> Vec<ModulePath> {
        let Some((first, rest)) = segments.split_first() else {
            touched.insert(module.clone());
            return vec![module.clone()];
        };
        let next = match first.as_str() {
            "crate" | CRATE | "$crate" => Some(Vec::new()),
            "self" => Some(module.clone()),
            "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
            name => {
                let child: ModulePath = module.iter().cloned().chain([name.to_owned()]).collect();
                self.modules.contains_key(&child).then_some(child)
            }
        };
        if let Some(next) = next {
            return self.walk(&next, rest, touched, visited);
        }
        let Some(scope) = self.modules.get(module) else {
            return Vec::new();
        };
        // An item of this module ends the way; an import leads on. Both count where they stand.
        touched.insert(module.clone());
        let mut ends = Vec::new();
        for target in scope.names.get(first).into_iter().flatten() {
            let onward: Vec<String> = target.segments.iter().chain(rest).cloned().collect();
            ends.extend(self.walk(&target.module, &onward, touched, visited));
        }
        for glob in &scope.globs {
            // A glob of something outside the crate reaches no module of ours.
            let mut ignored = BTreeSet::new();
            for end in self.walk(&glob.module, &glob.segments, &mut ignored, visited) {
                if self.knows(&end, first) {
                    ends.extend(self.walk(&end, segments, touched, visited));
                }
            }
        }
        ends
    }

    /// Whether `name` may come out of `module`: a child, an import, or from a glob there.
    fn knows(&self, module: &ModulePath, name: &str) -> bool {
        let child: ModulePath = module.iter().cloned().chain([name.to_owned()]).collect();
        self.modules.contains_key(&child)
            || self
                .modules
                .get(module)
                .is_some_and(|scope| scope.names.contains_key(name) || !scope.globs.is_empty())
    }
}
