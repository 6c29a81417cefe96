use super::*;

#[test]
fn calls_that_open_the_kernel_are_not_listed() {
    let listed = allowed_calls();
    assert!(!listed.is_empty());
    for call in [
        libc::SYS_ptrace,
        libc::SYS_mount,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_io_uring_setup,
        libc::SYS_keyctl,
        libc::SYS_clone3,
        libc::SYS_process_vm_readv,
        libc::SYS_open_by_handle_at,
        libc::SYS_userfaultfd,
        libc::SYS_seccomp,
        libc::SYS_memfd_secret,
    ] {
        assert!(!listed.contains(&call), "{call}");
    }
}

#[test]
fn unowned_memory_is_refused_only_where_nothing_counts_it() {
    let counted = rules(false).unwrap();
    let uncounted = rules(true).unwrap();
    for call in UNOWNED_MEMORY {
        assert!(counted.contains_key(&call));
        assert!(!uncounted.contains_key(&call));
    }
}

#[test]
fn foreign_code_jumps_over_the_whole_prelude() {
    for refuse in [false, true] {
        let prelude = answered_as_missing(refuse);
        let check = prelude.get(1).unwrap();
        assert_eq!(usize::from(check.jf) + 2, prelude.len());
    }
}
