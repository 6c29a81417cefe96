use super::*;

const SMAPS: &str = "\
55aa00000000-55aa00400000 r--p 00000000 fe:00 12 /opt/cloister
Rss:                 400 kB
Anonymous:             0 kB
55aa00400000-55aa02000000 r-xp 00400000 fe:00 12 /opt/cloister
Anonymous:             0 kB
55aa02000000-55aa02200000 r--p 02000000 fe:00 12 /opt/cloister
Anonymous:          2048 kB
55aa02200000-55aa02210000 rw-p 02200000 fe:00 12 /opt/cloister
Anonymous:             0 kB
55aa03000000-55aa03400000 rw-p 00000000 00:00 0 [heap]
Anonymous:             0 kB
7f0000000000-7f0000100000 r-xp 00000000 fe:00 13 /usr/opt/cloister
Anonymous:             0 kB
7f0000200000-7f0000300000 r--s 00000000 fe:00 12 /opt/cloister
Anonymous:             0 kB
";

#[test]
fn only_what_the_file_has_too_is_given_back() {
    let found = untouched(SMAPS, "/opt/cloister");
    let ranges: Vec<_> = found.iter().map(|found| (found.start, found.end)).collect();
    assert_eq!(
        ranges,
        [(0x55aa_0000_0000, 0x55aa_0040_0000), (0x55aa_0040_0000, 0x55aa_0200_0000)]
    );
    assert!(untouched(SMAPS, "/elsewhere/cloister").is_empty());
}

#[test]
fn a_program_goes_on_after_it_gave_itself_back() {
    assert!(give_back_program().unwrap() > 0);
    // Code and constants that were not used since have to come back.
    assert_eq!("55aa".parse::<u64>().unwrap_err().to_string(), "invalid digit found in string");
    assert!(give_back_program().unwrap() > 0);
}
