"""The ground floor: errors, files, settings, processes; nothing of ours."""
