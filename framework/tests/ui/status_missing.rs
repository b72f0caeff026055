use pilothouse::prelude::*;

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Page {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Book {
    metadata: ObjectMeta,
    status: Option<BookStatus>,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct BookStatus {
    pages: i32,
}

struct OtherStatus {
    pages: i32,
}

async fn without_status(page: &Context<Page>) -> Result<()> {
    page.update_status(BookStatus { pages: 1 }).await?;
    Ok(())
}

async fn another_type(book: &Context<Book>) -> Result<()> {
    book.update_status(OtherStatus { pages: 1 }).await?;
    Ok(())
}

fn main() {}
