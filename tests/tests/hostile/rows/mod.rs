//! The table.

mod answers;
mod calls;
mod connections;
mod http1;
mod http2;
mod leases;
mod lists;
mod objects;
mod processes;
mod throttles;
mod versions;
mod watches;
mod writes;
