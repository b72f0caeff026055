//! Controllers with a scripted server and the paused clock.

mod blocking;
mod controller_runtime_defects;
mod failures;
mod futures;
mod indexes;
mod keys;
mod kube_rs_defects;
mod load;
mod mapping;
mod memory;
mod polls;
mod requests;
mod selected;
mod small_objects;
mod sources;
mod sync;
mod turn;
mod world;
