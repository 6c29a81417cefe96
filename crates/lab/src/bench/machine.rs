//! What the kernel says about the machine.

use super::talker::broken;
use cloister::CliError;

fn read(path: &str) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(CliError::io(format!("{path} could not be read")))
}

/// Memory that is free or can be freed.
pub(super) fn available_bytes() -> Result<u64, CliError> {
    let text = read("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| broken("/proc/meminfo does not say what is available"))
}

/// Seconds that the cores together have been busy since the start.
pub(super) fn busy_time() -> Result<f64, CliError> {
    let text = read("/proc/stat")?;
    let fields: Vec<f64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    match fields.as_slice() {
        // user nice system idle iowait irq softirq …, in hundredths of a second
        [user, nice, system, _idle, _iowait, irq, softirq, ..] => {
            Ok((user + nice + system + irq + softirq) / 100.0)
        }
        _ => Err(broken("/proc/stat does not say how busy the processor is")),
    }
}

/// How busy the machine was in the minute before.
pub(super) fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}
