def run(neoc):
    return 0
