use crate::schema::cel::types::{TYPE, Type};

/// What is known about the types that were not known at first.
#[derive(Default)]
pub(super) struct Unifier {
    known: Vec<Option<Type>>,
    /// What to restore if an attempt fails.
    changes: Vec<(usize, Option<Type>)>,
}

impl Unifier {
    pub(super) fn variable(&mut self) -> Type {
        self.known.push(None);
        Type::Variable(self.known.len() - 1)
    }

    /// Replaces everything that is known. What is not known becomes `dyn` if `finally`.
    pub(super) fn substitute(&self, of: &Type, finally: bool) -> Type {
        match of {
            Type::Variable(number) => match self.find(*number) {
                Some(known) => self.substitute(known, finally),
                None if finally => Type::Dyn,
                None => of.clone(),
            },
            Type::Made(made) => {
                let parameters = made.parameters.iter();
                let parameters = parameters.map(|p| self.substitute(p, finally)).collect();
                Type::made(made.name, parameters)
            }
            other => other.clone(),
        }
    }

    /// Whether values of the first types can be used as the second types. If not, nothing is learnt.
    pub(super) fn are_assignable(&mut self, from: &[Type], to: &[Type]) -> bool {
        self.changes.clear();
        let fits = self.all(from, to);
        if !fits {
            while let Some((number, before)) = self.changes.pop() {
                self.known[number] = before;
            }
        }
        fits
    }

    pub(super) fn is_assignable(&mut self, from: &Type, to: &Type) -> bool {
        self.are_assignable(std::slice::from_ref(from), std::slice::from_ref(to))
    }

    fn all(&mut self, from: &[Type], to: &[Type]) -> bool {
        from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.fits(from, to))
    }

    fn fits(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Variable(number) = to {
            let (fits, is_known) = self.learn(from, *number);
            if fits || is_known {
                return fits;
            }
        }
        if let Type::Variable(number) = from {
            return self.learn(to, *number).0;
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Made(from), Type::Made(to)) => {
                from.name == to.name
                    && (from.name == TYPE || self.all(&from.parameters, &to.parameters))
            }
            (from, to) => from == to,
        }
    }

    /// Whether a variable can stand for a type, and whether the variable was known.
    fn learn(&mut self, other: &Type, number: usize) -> (bool, bool) {
        if *other == Type::Variable(number) {
            return (true, true);
        }
        if let Some(known) = self.find(number).cloned() {
            if *other == known {
                return (true, true);
            }
            if !self.fits(other, &known) {
                return (false, true);
            }
            let general = most_general(other, &known);
            if !self.occurs(number, &general) {
                self.set(number, general);
            }
            return (true, true);
        }
        if self.occurs(number, other) {
            return (false, false);
        }
        self.set(number, other.clone());
        (true, false)
    }

    fn find(&self, number: usize) -> Option<&Type> {
        self.known.get(number)?.as_ref()
    }

    fn set(&mut self, number: usize, to: Type) {
        let before = self.known[number].replace(to);
        self.changes.push((number, before));
    }

    /// Whether a type contains the variable.
    fn occurs(&self, number: usize, within: &Type) -> bool {
        match within {
            Type::Variable(other) if *other == number => true,
            Type::Variable(other) => self.find(*other).is_some_and(|t| self.occurs(number, t)),
            Type::Made(made) => made.parameters.iter().any(|p| self.occurs(number, p)),
            _ => false,
        }
    }
}

fn is_nullable(other: &Type) -> bool {
    match other {
        Type::Null
        | Type::Duration
        | Type::Timestamp
        | Type::Library(_)
        | Type::Patched(_)
        | Type::Object(_) => true,
        Type::Made(made) => made.name == super::super::types::OPTIONAL,
        _ => false,
    }
}

/// The more general of two types that fit each other.
pub(super) fn most_general(a: &Type, b: &Type) -> Type {
    if is_general(a, b) {
        a.clone()
    } else {
        b.clone()
    }
}

fn is_general(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Variable(_), _) => true,
        (_, Type::Dyn | Type::Variable(_)) => false,
        (Type::Made(a), Type::Made(b)) => {
            let parameters = || a.parameters.iter().zip(&b.parameters);
            a.name == b.name
                && (a.name == TYPE
                    || (a.parameters.len() == b.parameters.len()
                        && parameters().all(|(a, b)| is_general(a, b))))
        }
        (a, b) => a == b,
    }
}
