use pilothouse::{Resource, resource::ObjectMeta};

macro_rules! kind {
    ($name:ident, $($attribute:tt)*) => {
        #[derive(Resource, Clone, Debug)]
        #[resource($($attribute)*)]
        struct $name {
            metadata: ObjectMeta,
        }
    };
}

kind!(Group, group = "other.example.com", version = "v1beta1", kind = "Page", namespaced);
kind!(Named, group = "demo.example.com", version = "v1beta1", namespaced);
kind!(Plural, group = "demo.example.com", version = "v1beta1", kind = "Page", plural = "leaves", namespaced);
kind!(Scoped, group = "demo.example.com", version = "v1beta1", kind = "Page", cluster);
kind!(Twice, group = "demo.example.com", version = "v1", kind = "Page", namespaced);

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "demo.example.com",
    version = "v1",
    namespaced,
    served(Group, Named, Plural, Scoped, Twice),
    conversion = "none"
)]
struct Page {
    metadata: ObjectMeta,
}

fn main() {}
