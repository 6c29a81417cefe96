//! The layers of the sandbox, by name.

/// Which layers are in force. The product knows [`Layers::ALL`] and nothing else; the escape suite
/// takes single layers away to show that its attacks work where they are missing.
#[derive(Clone, Copy, Debug)]
pub struct Layers {
    /// Descriptors other than the three standard ones are closed first.
    pub closed_descriptors: bool,
    /// The agent sees only the variables that the launcher names.
    pub empty_environment: bool,
    /// Without it, root inside is root outside.
    pub user_namespace: bool,
    /// A uid that no other workspace and no person on the host has (as root).
    pub own_uid: bool,
    pub pid_namespace: bool,
    pub network_namespace: bool,
    pub ipc_namespace: bool,
    /// A fresh root with only what the spec names.
    pub own_root: bool,
    /// The system and the root are mounted read-only.
    pub read_only: bool,
    pub nosuid: bool,
    /// `/proc` shows only own processes and few files, and is read-only.
    pub masked_proc: bool,
    pub process_limits: bool,
    /// PID 1 can be neither traced nor read.
    pub sealed_init: bool,
    /// The sandbox ends with its launcher and its control plane.
    pub lifeline: bool,
    pub no_capabilities: bool,
    pub no_new_privileges: bool,
    pub landlock: bool,
    pub seccomp: bool,
}

impl Layers {
    pub const ALL: Self = Self {
        closed_descriptors: true,
        empty_environment: true,
        user_namespace: true,
        own_uid: true,
        pid_namespace: true,
        network_namespace: true,
        ipc_namespace: true,
        own_root: true,
        read_only: true,
        nosuid: true,
        masked_proc: true,
        process_limits: true,
        sealed_init: true,
        lifeline: true,
        no_capabilities: true,
        no_new_privileges: true,
        landlock: true,
        seccomp: true,
    };
}
