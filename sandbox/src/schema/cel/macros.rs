//! The macros with two variables, which the `cel` crate does not bring.

use cel::common::ast::{
    CallExpr, ComprehensionExpr, Expr, ListExpr, LiteralValue, MapExpr, operators,
};
use cel::parser::{Macro, MacroExprHelper, ParseError};
use cel::{Env, IdedExpr};

use super::evaluate::MAP_INSERT;

/// The variable in which a macro collects its result.
const RESULT: &str = "@result";

type Expansion = Result<Option<IdedExpr>, ParseError>;

pub(super) fn register(env: &mut Env) {
    let mut add =
        |name: &str,
         arguments,
         expand: fn(&mut Maker<'_, '_>, IdedExpr, Vec<IdedExpr>) -> Expansion| {
            let expanded = Macro::receiver(name, arguments, move |helper, target, arguments| {
                let Some(target) = target.take() else {
                    return Ok(None);
                };
                let arguments = std::mem::take(arguments);
                expand(&mut Maker { helper }, target, arguments)
            });
            // A duplicate is ignored here. The tests of the library find it.
            let _ = env.add_macro(expanded);
        };
    add("all", 3, all);
    add("exists", 3, exists);
    add("existsOne", 3, exists_one);
    add("exists_one", 3, exists_one);
    for arguments in [3, 4] {
        add("transformList", arguments, transform_list);
        add("transformMap", arguments, |maker, target, arguments| {
            transform_map(maker, target, arguments, true)
        });
        add(
            "transformMapEntry",
            arguments,
            |maker, target, arguments| transform_map(maker, target, arguments, false),
        );
    }
}

/// Makes expressions at the place of a macro.
struct Maker<'h, 'p> {
    helper: &'h mut MacroExprHelper<'p>,
}

impl Maker<'_, '_> {
    fn expression(&mut self, expression: Expr) -> IdedExpr {
        self.helper.next_expr(expression)
    }

    fn call(&mut self, function: &str, arguments: Vec<IdedExpr>) -> IdedExpr {
        self.expression(Expr::Call(CallExpr {
            func_name: function.into(),
            target: None,
            args: arguments,
        }))
    }

    fn boolean(&mut self, value: bool) -> IdedExpr {
        self.expression(Expr::Literal(LiteralValue::Boolean(value.into())))
    }

    fn integer(&mut self, value: i64) -> IdedExpr {
        self.expression(Expr::Literal(LiteralValue::Int(value.into())))
    }

    fn variable(&mut self, name: &str) -> IdedExpr {
        self.expression(Expr::Ident(name.into()))
    }

    fn result(&mut self) -> IdedExpr {
        self.variable(RESULT)
    }

    fn list(&mut self, items: Vec<IdedExpr>) -> IdedExpr {
        self.expression(Expr::List(ListExpr::new(items)))
    }

    /// The name of a variable.
    fn name(&self, of: &IdedExpr, wrong: &str) -> Result<String, ParseError> {
        match &of.expr {
            Expr::Ident(name) => Ok(name.clone()),
            _ => Err(self.helper.new_error(of.id, wrong)),
        }
    }

    fn comprehension(&mut self, all: ComprehensionExpr) -> IdedExpr {
        self.expression(Expr::Comprehension(Box::new(all)))
    }
}

/// The two variables, and what follows them.
struct Loop {
    target: IdedExpr,
    first: String,
    second: String,
    rest: Vec<IdedExpr>,
}

impl Loop {
    fn read(
        maker: &Maker<'_, '_>,
        target: IdedExpr,
        mut arguments: Vec<IdedExpr>,
    ) -> Result<Self, ParseError> {
        let rest = arguments.split_off(2);
        let wrong = "argument must be a simple name";
        let mut names = Vec::new();
        for argument in &arguments {
            let name = maker.name(argument, wrong)?;
            if names.contains(&name) {
                let text = format!("duplicate variable name: {name}");
                return Err(maker.helper.new_error(argument.id, text));
            }
            if name == "__result__" {
                let text = "iteration variable overwrites accumulator variable";
                return Err(maker.helper.new_error(argument.id, text));
            }
            names.push(name);
        }
        let second = names.pop().unwrap_or_default();
        let first = names.pop().unwrap_or_default();
        Ok(Self {
            target,
            first,
            second,
            rest,
        })
    }

    fn make(
        self,
        maker: &mut Maker<'_, '_>,
        start: IdedExpr,
        condition: IdedExpr,
        step: IdedExpr,
        result: IdedExpr,
    ) -> Expansion {
        Ok(Some(maker.comprehension(ComprehensionExpr {
            iter_range: self.target,
            iter_var: self.first,
            iter_var2: Some(self.second),
            accu_var: RESULT.into(),
            accu_init: start,
            loop_cond: condition,
            loop_step: step,
            result,
        })))
    }
}

fn all(maker: &mut Maker<'_, '_>, target: IdedExpr, arguments: Vec<IdedExpr>) -> Expansion {
    let mut of = Loop::read(maker, target, arguments)?;
    let start = maker.boolean(true);
    let result = maker.result();
    let condition = maker.call(operators::NOT_STRICTLY_FALSE, vec![result]);
    let mut terms = vec![maker.result()];
    terms.append(&mut of.rest);
    let step = maker.call(operators::LOGICAL_AND, terms);
    let result = maker.result();
    of.make(maker, start, condition, step, result)
}

fn exists(maker: &mut Maker<'_, '_>, target: IdedExpr, arguments: Vec<IdedExpr>) -> Expansion {
    let mut of = Loop::read(maker, target, arguments)?;
    let start = maker.boolean(false);
    let result = maker.result();
    let not = maker.call(operators::LOGICAL_NOT, vec![result]);
    let condition = maker.call(operators::NOT_STRICTLY_FALSE, vec![not]);
    let mut terms = vec![maker.result()];
    terms.append(&mut of.rest);
    let step = maker.call(operators::LOGICAL_OR, terms);
    let result = maker.result();
    of.make(maker, start, condition, step, result)
}

fn exists_one(maker: &mut Maker<'_, '_>, target: IdedExpr, arguments: Vec<IdedExpr>) -> Expansion {
    let mut of = Loop::read(maker, target, arguments)?;
    let start = maker.integer(0);
    let condition = maker.boolean(true);
    let one_more = vec![maker.result(), maker.integer(1)];
    let one_more = maker.call(operators::ADD, one_more);
    let mut parts = std::mem::take(&mut of.rest);
    parts.extend([one_more, maker.result()]);
    let step = maker.call(operators::CONDITIONAL, parts);
    let sides = vec![maker.result(), maker.integer(1)];
    let result = maker.call(operators::EQUALS, sides);
    of.make(maker, start, condition, step, result)
}

fn transform_list(
    maker: &mut Maker<'_, '_>,
    target: IdedExpr,
    arguments: Vec<IdedExpr>,
) -> Expansion {
    let mut of = Loop::read(maker, target, arguments)?;
    let Some(transformed) = of.rest.pop() else {
        return Ok(None);
    };
    let start = maker.list(Vec::new());
    let sides = vec![maker.result(), maker.list(vec![transformed])];
    let step = maker.call(operators::ADD, sides);
    finish(maker, of, start, step)
}

/// `transformMap`, which keeps the keys, or `transformMapEntry`.
fn transform_map(
    maker: &mut Maker<'_, '_>,
    target: IdedExpr,
    arguments: Vec<IdedExpr>,
    keeps_key: bool,
) -> Expansion {
    let mut of = Loop::read(maker, target, arguments)?;
    let Some(transformed) = of.rest.pop() else {
        return Ok(None);
    };
    let start = maker.expression(Expr::Map(MapExpr::default()));
    let mut parts = vec![maker.result()];
    if keeps_key {
        parts.push(maker.variable(&of.first));
    }
    parts.push(transformed);
    let step = maker.call(MAP_INSERT, parts);
    finish(maker, of, start, step)
}

/// Adds the condition of a transformation, if it has one.
fn finish(maker: &mut Maker<'_, '_>, mut of: Loop, start: IdedExpr, step: IdedExpr) -> Expansion {
    let step = match of.rest.pop() {
        Some(filter) => {
            let parts = vec![filter, step, maker.result()];
            maker.call(operators::CONDITIONAL, parts)
        }
        None => step,
    };
    let condition = maker.boolean(true);
    let result = maker.result();
    of.make(maker, start, condition, step, result)
}
