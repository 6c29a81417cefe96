use super::*;

const V1: &str = "\
30 20 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
31 20 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 20 0:28 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw";
const IN_CONTAINER: &str =
    "40 20 0:29 /docker/abc /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup rw,nsdelegate";

#[test]
fn a_hierarchy_is_found_by_its_controller() {
    let memory = find_mount(V1, |kind, options| {
        kind == "cgroup" && options.split(',').any(|it| it == "memory")
    });
    assert_eq!(memory, Some(("/sys/fs/cgroup/memory".into(), "/".into())));
    let unified = find_mount(V1, |kind, _| kind == "cgroup2");
    assert_eq!(unified, Some(("/sys/fs/cgroup/unified".into(), "/".into())));
}

#[test]
fn a_mount_that_shows_a_part_is_taken_as_that_part() {
    let (mount, root) = find_mount(IN_CONTAINER, |kind, _| kind == "cgroup2").unwrap();
    assert_eq!(below(&mount, &root, "/docker/abc/x"), Path::new("/sys/fs/cgroup/x"));
    assert_eq!(below(&mount, &root, "/docker/abc"), Path::new("/sys/fs/cgroup"));
}

/// A directory tree that looks like a unified hierarchy, as far as plain files can.
fn unified(controllers: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("service");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("cgroup.controllers"), controllers).unwrap();
    fs::write(own.join("cgroup.procs"), format!("{}\n", std::process::id())).unwrap();
    fs::write(own.join("cgroup.subtree_control"), "").unwrap();
    let mounts = format!("40 20 0:29 / {} rw - cgroup2 cgroup2 rw", dir.path().display());
    (dir, mounts)
}

#[test]
fn a_delegated_unified_group_is_used() {
    let (dir, mounts) = unified("cpu io memory pids\n");
    let parent = unified_parent(&mounts, "0::/service\n", "cloister-x").unwrap();
    assert_eq!(parent, dir.path().join("service/cloister-x"));
    let enabled = |group: &Path| fs::read_to_string(group.join("cgroup.subtree_control")).unwrap();
    assert_eq!(enabled(&dir.path().join("service")), "+memory +pids +cpu");
    assert_eq!(enabled(&parent), "+memory +pids +cpu");
}

#[test]
fn a_unified_group_without_the_controllers_is_not_used() {
    let (_dir, mounts) = unified("hugetlb\n");
    let error = unified_parent(&mounts, "0::/service\n", "cloister-x").unwrap_err();
    assert!(error.to_string().contains("hugetlb"), "{error}");
}

#[test]
fn a_group_with_other_processes_in_it_is_not_split() {
    let (dir, _mounts) = unified("cpu memory pids\n");
    let own = dir.path().join("service");
    // Handing controllers down fails, as it does in a group that holds processes.
    fs::remove_file(own.join("cgroup.subtree_control")).unwrap();
    fs::create_dir(own.join("cgroup.subtree_control")).unwrap();
    fs::write(own.join("cgroup.procs"), "1\n2\n").unwrap();
    let error = delegate(&own).unwrap_err();
    assert!(error.to_string().contains("other processes"), "{error}");
    assert!(!own.join("cloister-control").exists());
}
