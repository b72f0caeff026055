use pilothouse::Schema;
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
struct Lists {
    #[schema(list_type = "map")]
    no_keys: Vec<String>,
    #[schema(list_map_keys("name"))]
    no_type: Vec<String>,
    #[schema(list_type = "map", list_map_keys("name"))]
    scalars: Vec<String>,
    #[schema(unique_items)]
    lists: Vec<Vec<String>>,
    #[schema(list_type = "sorted")]
    unknown: Vec<String>,
    #[schema(unique_items, list_type = "atomic")]
    both: Vec<String>,
}

fn main() {}
