use pilothouse::{crd::CustomResource, prelude::*};

struct NotAReconciler;

fn main() {
    let operator = Operator::new("website").controller(NotAReconciler);
    let _ = ConfigMap::crd();
    operator.main()
}
