//! CronJobs: a Job at each time of a schedule.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `cron_job.rs` | one step of a CronJob |
//! | `missed.rs` | which time of its schedule is due, and when the next one is |
//! | `schedule.rs` | schedules: five fields, or `@hourly` and its like |

mod cron_job;
mod missed;
mod schedule;
#[cfg(test)]
mod tests;

pub(super) use cron_job::reconcile;
