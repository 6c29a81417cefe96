//! The names of everything that can be asked for, one type per kind of thing it is about.

use std::fmt;

/// A closed list of actions that are about the same kind of thing.
macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum $name {
                $($variant,)+
            }

            impl $name {
                pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

                /// The name in policies, explanations and audit entries.
                pub const fn as_str(self) -> &'static str {
                    match self {
                        $(Self::$variant => $text,)+
                    }
                }

                pub fn parse(text: &str) -> Option<Self> {
                    Self::ALL.iter().copied().find(|action| action.as_str() == text)
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self.as_str())
                }
            }
        )+
    };
}

actions! {
    /// A person's calls that are about the platform as a whole.
    PlatformCall {
        ReadStatus = "read_status",
        ListUsers = "list_users",
        ListCells = "list_cells",
        ReadPolicies = "read_policies",
        ExplainPolicy = "explain_policy",
        ReadSettings = "read_platform_settings",
        ListConnectors = "list_connectors",
        EmergencyStop = "emergency_stop",
        ReadMetrics = "read_metrics",
        SetLevelModels = "set_level_models",
        ReconcileConnector = "reconcile_connector",
        CreateUser = "create_user",
        InviteUser = "invite_user",
        AnswerPairing = "answer_pairing",
        LinkIdentity = "link_identity",
        UnlinkIdentity = "unlink_identity",
        ReadAudit = "read_platform_audit",
        ExportAudit = "export_platform_audit",
        VerifyAudit = "verify_audit",
        ListGrants = "list_platform_grants",
        ChangePolicies = "change_policies",
        ChangeSettings = "change_platform_settings",
        RollbackSettings = "rollback_platform_settings",
        EmergencyRelease = "emergency_release",
        RotateMasterKey = "rotate_master_key",
        ManageCa = "manage_ca",
        EnrollAdmin = "enroll_admin",
        RevokeAdmin = "revoke_admin",
        ConfigureWitness = "configure_witness",
        ManageBackups = "manage_backups",
        ManageConnectors = "manage_connectors",
        PruneAudit = "prune_audit",
    }

    /// A person's calls about one model.
    ModelCall {
        Show = "show_model",
        Add = "add_model",
        Remove = "remove_model",
        Test = "test_model",
    }

    /// A person's calls about one workspace.
    WorkspaceCall {
        ReadFiles = "read_files",
        ReadMemory = "read_memory",
        ReadIdentity = "read_identity",
        ListApprovals = "list_approvals",
        ListTasks = "list_tasks",
        ListChats = "list_chats",
        Search = "search",
        ExportData = "export_data",
        WriteFiles = "write_files",
        CreateChat = "create_chat",
        CancelTasks = "cancel_tasks",
        ShowUser = "show_user",
        ReadBudget = "read_budget",
        ShowCell = "show_cell",
        ListEgressRules = "list_egress_rules",
        ListGrants = "list_grants",
        ListSchedules = "list_schedules",
        ListSkills = "list_skills",
        ListContexts = "list_contexts",
        ChangeBudget = "change_budget",
        ChangeLimits = "change_limits",
        StopCell = "stop_cell",
        ListSecrets = "list_secrets",
        ListOwnModels = "list_own_models",
        ChangeOwnModels = "change_own_models",
        RevokeGrant = "revoke_grant",
        ReadAudit = "read_audit",
        ExportAudit = "export_audit",
        ChangeMemory = "change_memory",
        ChangeIdentity = "change_identity",
        ChangeSchedules = "change_schedules",
        ChangeSettings = "change_settings",
        RollbackSettings = "rollback_settings",
        RemoveUser = "remove_user",
        EraseData = "erase_data",
        OpenSessionFor = "open_session_for",
    }

    /// A person's calls about one context.
    ContextCall {
        Read = "read_context",
        Change = "change_context",
    }

    /// A person's calls about one chat and its tasks.
    ChatCall {
        Read = "read_chat",
        ShowTask = "show_task",
        DownloadFile = "download_file",
        SendMessage = "send_message",
        UploadFile = "upload_file",
        Change = "change_chat",
        CancelTask = "cancel_task",
        RetryTask = "retry_task",
        CancelTurn = "cancel_turn",
    }

    /// A person's calls about one secret. There is none that reads a value.
    SecretCall {
        Set = "set_secret",
        Rotate = "rotate_secret",
        Remove = "remove_secret",
    }

    /// A person's calls about one host outside.
    DomainCall {
        Allow = "allow_domain",
        Disallow = "disallow_domain",
    }

    /// A person's calls about one skill.
    SkillCall {
        Show = "show_skill",
        Install = "install_skill",
        Remove = "remove_skill",
    }

    /// A person's calls about one tool of the workspace.
    ToolCall {
        Show = "show_tool",
        Install = "install_tool",
        Remove = "remove_tool",
    }

    /// A person's calls about one mailbox.
    MailboxCall {
        Show = "show_mailbox",
        Change = "change_mailbox",
    }

    /// A cell's requests that are about its chat.
    CellCall {
        Delegate = "delegate",
        ListTasks = "cell_list_tasks",
        ShowTask = "cell_show_task",
        CancelTasks = "cell_cancel_tasks",
        SendFile = "send_file",
        ProposePlan = "propose_plan",
        WebSearch = "web_search",
    }

    /// A write that outlives the task: proposed by a cell, applied by the control plane alone.
    Proposal {
        Memory = "propose_memory",
        Skill = "propose_skill",
        Schedule = "propose_schedule",
        Config = "propose_config",
        Tool = "propose_tool",
    }
}
